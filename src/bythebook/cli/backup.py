"""`bythebook backup` and `bythebook restore`: everything as one file."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.output import print_json
from bythebook.errors import BusyError
from bythebook.settings import load_settings

if TYPE_CHECKING:
    from bythebook.moving.backup_file import BackupManifest


def backup_command(
    file: Annotated[Path, typer.Argument(help="File to write, such as monday.backup.")],
    json: Annotated[bool, typer.Option("--json", help="Print what was saved as JSON.")] = False,
) -> None:
    """Save books, conversations, keys and jobs to one file, also while the service runs."""
    manifest = asyncio.run(_back_up(file))
    _tell(manifest, file, json, "saved to")
    for left_out in manifest.left_out:
        sys.stderr.write(f"Left out, being ingested: {left_out}\n")


def restore_command(
    file: Annotated[Path, typer.Argument(help="File written by `bythebook backup`.")],
    force: Annotated[
        bool,
        typer.Option("--force", help="Put aside what is in the data folder; nothing is deleted."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was restored as JSON.")] = False,
) -> None:
    """Put a backup in place, all of it or nothing; the service must not be running."""
    from bythebook.cli.progress import steps
    from bythebook.moving.restore import restore

    with steps() as on_step:
        manifest = asyncio.run(restore(load_settings(), file, force=force, on_step=on_step))
    _tell(manifest, file, json, "restored from")


async def _back_up(file: Path) -> BackupManifest:
    from bythebook.cli.progress import steps
    from bythebook.library import Library
    from bythebook.moving.backup import back_up
    from bythebook.moving.errand import ask_owner

    settings = load_settings()
    async with await Library.open(settings) as library:
        try:
            await library.store()
        except BusyError:
            return await ask_owner(settings.home, file)
        with steps() as on_step:
            return await back_up(library, file, on_step)


def _tell(manifest: BackupManifest, file: Path, as_json: bool, done: str) -> None:
    if as_json:
        print_json(manifest.model_dump(mode="json", exclude={"sha256"}))
        return
    passages = sum(book.passages for book in manifest.books)
    rows = sum(manifest.rows.values())
    sys.stderr.write(
        f"{len(manifest.books)} books with {passages} passages and {rows} rows were {done} {file} "
        f"({file.stat().st_size / 1e6:.1f} MB).\n"
    )
