"""`bythebook backup`, `restore`, `export`, `import` and `migrate`: books and homes as files."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.terminal import async_command, open_library, print_json, steps
from bythebook.errors import InputError
from bythebook.models.values import counted
from bythebook.settings import load_settings

if TYPE_CHECKING:
    from bythebook.moving.backup import BackupManifest


@async_command
async def backup_command(
    file: Annotated[Path, typer.Argument(help="File to write, such as monday.backup.")],
    json: Annotated[bool, typer.Option("--json", help="Print what was saved as JSON.")] = False,
) -> None:
    """Save everything to one file.

    That is books, conversations, keys, questions and jobs. The service may be running.
    """
    from bythebook.moving.backup import back_up

    async with open_library() as library:
        with steps() as on_step:
            manifest = await back_up(library, file, on_step)
    _print_manifest(manifest, file, json, "saved to")
    for left_out in manifest.left_out:
        sys.stderr.write(f"Left out, because they were being read: {left_out}\n")


@async_command
async def restore_command(
    file: Annotated[Path, typer.Argument(help="File written by `bythebook backup`.")],
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Move existing data aside first, into a folder replaced-...; not for servers.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was restored as JSON.")] = False,
) -> None:
    """Restore a backup, completely or not at all. Stop the service first."""
    from bythebook.moving.restore import restore

    with steps() as on_step:
        manifest = await restore(load_settings(), file, force=force, on_step=on_step)
    _print_manifest(manifest, file, json, "restored from")


def _print_manifest(manifest: BackupManifest, file: Path, as_json: bool, done: str) -> None:
    if as_json:
        print_json(manifest.model_dump(mode="json", exclude={"sha256"}))
        return
    passages = sum(book.passages for book in manifest.books)
    rows = sum(manifest.rows.values())
    sys.stderr.write(
        f"{counted(len(manifest.books), 'book')} with {counted(passages, 'passage')} and "
        f"{counted(rows, 'row')} were {done} {file} ({file.stat().st_size / 1e6:.1f} MB).\n"
    )


@async_command
async def export_command(
    book: Annotated[str, typer.Argument(help="Id of the book.")],
    file: Annotated[Path, typer.Argument(help="File to write, such as physics.btb.")],
    json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a book with its vectors to one file, to hand out or keep."""
    from bythebook.moving.archive import export_book

    async with open_library() as library:
        with steps() as on_step:
            manifest = await export_book(library, book, file, partial(on_step, "Writing"))
    size = (await asyncio.to_thread(file.stat)).st_size
    if json:
        print_json(
            {
                "book_id": book,
                "passages": manifest.passages,
                "files": manifest.files,
                "file": str(file),
                "bytes": size,
            }
        )
    else:
        passages = counted(manifest.passages, "passage")
        sys.stderr.write(f"{book}: {passages} in {file} ({size / 1e6:.1f} MB).\n")


@async_command
async def import_command(
    file: Annotated[Path, typer.Argument(help="File written by `bythebook export`.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a book with the same id.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was read as JSON.")] = False,
) -> None:
    """Add a book that was exported.

    Nothing is embedded again, so the embedder must be the same. To update the book later, run
    `bythebook ingest PATH --book ID` once: the place named in the file is not used.
    """
    from bythebook.moving.archive import import_book

    async with open_library() as library:
        with steps() as on_step:
            manifest = await import_book(
                library,
                file,
                replace=replace,
                on_passage=partial(on_step, "Reading"),
            )
    book = manifest.book
    if json:
        print_json(
            {"book_id": book.book_id, "passages": manifest.passages, "files": manifest.files}
        )
    else:
        passages = counted(manifest.passages, "passage")
        sys.stderr.write(f"{book.book_id}: {book.title}, {passages}.\n")


@async_command
async def migrate_command(
    to_qdrant: Annotated[
        str | None, typer.Option(help="Address of the Qdrant server for the index.")
    ] = None,
    to_database: Annotated[
        str | None,
        typer.Option(help="Address of the PostgreSQL database for everything else."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was copied as JSON.")] = False,
) -> None:
    """Copy books, conversations, keys and jobs to servers.

    Stop the service first. Nothing is embedded again, and nothing is deleted. If the command is
    interrupted, run it again. Then set QDRANT_URL and DATABASE_URL as it says.
    """
    if to_qdrant is None and to_database is None:
        raise InputError("No target was given.", action="Give --to-qdrant, --to-database or both.")
    from bythebook.moving.migration import migrate

    settings = load_settings()
    given = {"qdrant_url": to_qdrant, "database_url": to_database}
    changes = {name: value for name, value in given.items() if value is not None}
    async with (
        open_library(settings) as source,
        open_library(settings.model_copy(update=changes)) as target,
    ):
        with steps() as on_step:
            moved = await migrate(source, target, on_step)
    if json:
        print_json(moved)
        return
    for book, passages in moved.passages.items():
        sys.stderr.write(f"{book}: {counted(passages, 'passage')} copied.\n")
    if moved.rows:
        sys.stderr.write(
            f"{sum(moved.rows.values())} rows in {len(moved.rows)} tables were copied.\n"
        )
    sys.stderr.write("From now on, set:\n")
    for name, value in (("QDRANT_URL", to_qdrant), ("DATABASE_URL", to_database)):
        if value is not None:
            sys.stdout.write(f"{name}={value}\n")
