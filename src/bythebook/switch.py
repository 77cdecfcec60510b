"""Several files and folders put in their places as one step, however the process ends.

What shall be moved is written down first. Until that note is whole nothing has changed; from then
on everything will, if not by this process then by the next that opens the home.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from bythebook.durable import write_note

_NOTE = "switch.json"


def switch(home: Path, moves: dict[Path, Path], aside: Path) -> None:
    """Move each source to its target; what is at a target goes to the folder `aside`."""
    content = {
        "aside": str(aside),
        "moves": {str(source): str(target) for source, target in moves.items()},
    }
    write_note(home / _NOTE, json.dumps(content))
    finish_switch(home)


def is_pending(home: Path) -> bool:
    """Whether a switch was begun and not finished; what it moves must stay where it is."""
    return (home / _NOTE).exists()


def finish_switch(home: Path) -> None:
    """Do what is left of a switch; nothing where there is none."""
    if not is_pending(home):
        return
    from filelock import FileLock  # slow to import, and seldom needed

    with FileLock(home / "switch.lock", timeout=60):
        if not is_pending(home):
            return
        note = home / _NOTE
        content = json.loads(note.read_text(encoding="utf-8"))
        aside = Path(content["aside"])
        aside.mkdir(parents=True, exist_ok=True)
        for source, target in content["moves"].items():
            _move(Path(source), Path(target), aside)
        note.unlink()


def _move(source: Path, target: Path, aside: Path) -> None:
    if not source.exists():  # done before
        return
    # A database has files beside it that belong to the old one only.
    for old in (target, *(target.with_name(f"{target.name}{end}") for end in ("-wal", "-shm"))):
        if old.exists():
            shutil.move(old, aside / old.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)
