"""Asking the process that has the embedded index open for a backup.

One process owns that index, so it alone can save it. Whoever wants a backup leaves a note in the
home; the service looks for notes, does it, and leaves its answer beside.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from bythebook.errors import BookError, BusyError, InputError
from bythebook.library import Library
from bythebook.moving.backup import back_up
from bythebook.moving.backup_file import BackupManifest

LOOK = 0.5
# Seconds until a note that nobody takes is taken back: a service may be busy, but not so long.
UNTAKEN = 20.0
# Seconds without a sign of life after which who took it is dead.
SILENT = 60.0

log = logging.getLogger(__name__)


async def ask_owner(home: Path, file: Path) -> BackupManifest:
    """Have the process that uses the home write the backup."""
    folder = home / "errands"
    folder.mkdir(parents=True, exist_ok=True)
    name = uuid4().hex
    note, taken, answer = (folder / f"{name}.{kind}" for kind in ("note", "taken", "answer"))
    _put(note, {"file": str(await asyncio.to_thread(file.resolve))})
    try:
        return _read(await _wait(note, taken, answer), file)
    finally:
        for left in (note, taken, answer):
            left.unlink(missing_ok=True)


async def _wait(note: Path, taken: Path, answer: Path) -> dict[str, Any]:
    since = time.monotonic()
    seen = 0.0
    while True:
        if (found := _content(answer)) is not None:
            return found
        if (touched := _last_sign(taken)) != seen:
            seen, since = touched, time.monotonic()
        if time.monotonic() - since > (SILENT if seen else UNTAKEN):
            raise BusyError(
                "Another bythebook is using this data folder and does not answer.",
                action="If it is an ingest or another command, wait until it ends, then try again.",
            )
        await asyncio.sleep(LOOK / 2)


def _content(place: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads(place.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def _last_sign(taken: Path) -> float:
    """When who took the note was last alive; 0 while nobody has."""
    try:
        return taken.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _read(answer: dict[str, Any], file: Path) -> BackupManifest:
    if "error" in answer:
        raise InputError(answer["error"], action=answer["action"])
    try:
        return BackupManifest.model_validate(answer["manifest"])
    except ValidationError as problem:
        raise InputError(
            f"What wrote {file} is another version of bythebook.",
            action="Start the service again, then try again.",
        ) from problem


async def run_errands(library: Library) -> None:
    """Look for notes and do what they ask, for as long as the service runs."""
    folder = library.settings.home / "errands"
    while True:
        for note in sorted(folder.glob("*.note")):
            try:
                await _run(library, note)
            except OSError:
                log.exception("A backup that was asked for can't be written")
        await asyncio.sleep(LOOK)


async def _run(library: Library, note: Path) -> None:
    taken = note.with_suffix(".taken")
    asked = _take(note, taken)
    if asked is None:
        return
    file = Path(asked["file"])
    answer: dict[str, Any]
    living = asyncio.create_task(_stay_alive(taken))
    try:
        manifest = await back_up(library, file)
        answer = {"manifest": manifest.model_dump(mode="json")}
        log.info("A backup was written to %s", file)
    except BookError as problem:
        answer = {"error": problem.message, "action": problem.action}
    finally:
        living.cancel()
        await asyncio.gather(living, return_exceptions=True)
    _put(note.with_suffix(".answer"), answer)


def _take(note: Path, taken: Path) -> dict[str, Any] | None:
    """What the note asks for; None if it was taken back."""
    with suppress(FileNotFoundError):
        note.rename(taken)
        os.utime(taken)
    return _content(taken)


async def _stay_alive(taken: Path) -> None:
    while True:
        with suppress(FileNotFoundError):
            os.utime(taken)
        await asyncio.sleep(1)


def _put(place: Path, content: dict[str, Any]) -> None:
    draft = place.with_name(f"{place.name}.draft")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.replace(place)
