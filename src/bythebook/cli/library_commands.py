"""`bythebook books` and `bythebook jobs`: what is in the index and what ingests did."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.terminal import out, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bythebook.models.job import FileChanges


def books_command(
    remove: Annotated[
        str | None, typer.Option(help="Delete this book from the index. Its files stay.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the books as JSON.")] = False,
) -> None:
    """List the books in the index, or remove one."""
    asyncio.run(_books(remove, json))


async def _books(remove: str | None, as_json: bool) -> None:
    from bythebook.library import Library

    async with await Library.open() as library:
        if remove is not None:
            removed = await library.remove_book(remove)
            sys.stderr.write(f"Removed {removed.book_id} ({removed.total_chunks} passages).\n")
        known = await library.books()
    if as_json:
        print_json([book.model_dump(mode="json") for book in known])
        return
    if not known:
        out().print("There is no book in the index. Run `bythebook ingest PATH`.")
        return
    from rich.table import Table

    table = Table("book", "title", "files", "passages", "embedding model", box=None)
    for book in known:
        counts = (str(book.total_files), str(book.total_chunks))
        table.add_row(book.book_id, book.title, *counts, book.embedding_model)
    out().print(table)


def jobs_command(
    book: Annotated[str | None, typer.Option("--book", help="Only jobs of this book.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to list.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print the jobs as JSON.")] = False,
) -> None:
    """List ingestion jobs, newest first, with what each found changed.

    With --book, the files that the last one found changed are named.

    A job whose process died is shown as failed. Run the same ingest again to continue it.
    """
    asyncio.run(_jobs(book, limit, json))


async def _jobs(book_id: str | None, limit: int, as_json: bool) -> None:
    from bythebook.library import Library

    async with await Library.open() as library:
        known = await library.jobs(book_id, limit)
    if as_json:
        print_json([job.model_dump(mode="json") for job in known])
        return
    if not known:
        out().print("There are no jobs yet. Run `bythebook ingest PATH`.")
        return
    from rich.table import Table

    table = Table(
        "job", "book", "mode", "status", "started", "files", "changes", "passages", "", box=None
    )
    for job in known:
        table.add_row(
            str(job.job_id),
            job.book_id,
            job.mode,
            job.status,
            f"{job.started_at:%Y-%m-%d %H:%M}",
            f"{job.files_processed}/{job.total_files}",
            "" if job.changes is None else str(job.changes),
            f"+{job.chunks_created} -{job.chunks_deleted}",
            job.error_message or (f"{len(job.warnings)} warnings" if job.warnings else ""),
        )
    out().print(table)
    if book_id is not None and (changes := known[0].changes):
        for line in _named(changes):
            out().print(line, markup=False, highlight=False)


def _named(changes: FileChanges) -> Iterator[str]:
    """The files that the last ingest of a book found changed."""
    for how, count, files in (
        ("added", changes.added, changes.added_files),
        ("changed", changes.changed, changes.changed_files),
        ("removed", changes.removed, changes.removed_files),
    ):
        yield from (f"{how}: {file}" for file in files)
        if rest := count - len(files):
            yield f"and {rest:,} more {how}"
