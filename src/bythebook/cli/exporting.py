"""`bythebook export` and `bythebook import`: a book's index as one file."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from bythebook.cli.output import print_json


def export_command(
    book: Annotated[str, typer.Argument(help="Id of the book.")],
    file: Annotated[Path, typer.Argument(help="File to write, such as physics.btb.")],
    json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a book's index to one file, to hand out or keep."""
    asyncio.run(_export(book, file, json))


def import_command(
    file: Annotated[Path, typer.Argument(help="File written by `bythebook export`.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of a book with the same id.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was read as JSON.")] = False,
) -> None:
    """Put the book of such a file into the index; nothing is embedded."""
    asyncio.run(_import(file, replace, json))


async def _export(book: str, file: Path, as_json: bool) -> None:
    from bythebook.cli.progress import steps
    from bythebook.library import Library
    from bythebook.moving.exporting import export_book

    async with await Library.open() as library:
        with steps() as on_step:
            manifest = await export_book(
                library, book, file, lambda done, all: on_step("Writing", done, all)
            )
    size = (await asyncio.to_thread(file.stat)).st_size
    if as_json:
        told = {"book_id": book, "passages": manifest.passages, "files": manifest.files}
        print_json({**told, "file": str(file), "bytes": size})
    else:
        sys.stderr.write(f"{book}: {manifest.passages} passages in {file} ({size / 1e6:.1f} MB).\n")


async def _import(file: Path, replace: bool, as_json: bool) -> None:
    from bythebook.cli.progress import steps
    from bythebook.library import Library
    from bythebook.moving.importing import import_book

    async with await Library.open() as library:
        with steps() as on_step:
            manifest = await import_book(
                library,
                file,
                replace=replace,
                on_passage=lambda done, all: on_step("Reading", done, all),
            )
    book = manifest.book
    if as_json:
        print_json(
            {"book_id": book.book_id, "passages": manifest.passages, "files": manifest.files}
        )
    else:
        sys.stderr.write(f"{book.book_id}: {book.title}, {manifest.passages} passages.\n")
