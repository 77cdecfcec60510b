"""`bythebook ingest`, `books` and `jobs`: what gets into the index, what is in it, and when."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.terminal import async_command, open_library, out, print_json, progress_bar
from bythebook.errors import InputError
from bythebook.models.values import INGESTION_MODES, counted
from bythebook.settings import load_settings
from bythebook.tracing import sending_traces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bythebook.fetching.crawl import CrawlReport
    from bythebook.library import Library
    from bythebook.models.job import FileChanges, IngestionJob
    from bythebook.models.values import IngestionMode


SHOWN_WARNINGS = 10
WIDEST_ID = 24  # of a book, on one line of a table
NO_ADDRESS = (
    "Citations show only the path of a page, because the address of the published book is not "
    "known. Set base_url in a file bythebook.toml in the book's folder, and run ingest again.\n"
)
NEXT = (
    'Ask it with `bythebook ask --book {book_id} "…"`, or in the browser with `bythebook serve`.\n'
)
NAMED = (
    'The book is called "{title}", with the id {book_id}. For another id, run '
    "`bythebook books --remove {book_id}`, then ingest with --book ID.\n"
)


@async_command
async def ingest_command(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH",
            help="Folder, file, web address or git address; by default where --book was read last.",
            show_default=False,
        ),
    ] = None,
    book: Annotated[
        str | None,
        typer.Option(
            "--book", help="Id of the book; by default from its manifest, folder or site."
        ),
    ] = None,
    ref: Annotated[
        str | None, typer.Option(help="Branch, tag or commit of the git repository.")
    ] = None,
    path: Annotated[
        str | None, typer.Option(help="Folder or file of the book in the git repository.")
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="incremental: only what changed; full: read every file again, but embed only new "
            "passages; recreate: build the book's index from scratch."
        ),
    ] = "incremental",
    json: Annotated[bool, typer.Option("--json", help="Print the job as JSON.")] = False,
) -> None:
    """Read a book into the index, or update it.

    The exit status is 1 if a file could not be read; all other files are in the index then.
    """
    from bythebook.fetching.address import find_address

    if mode not in INGESTION_MODES:
        raise InputError(
            f"There is no mode {mode!r}.", action=f"Choose one of: {', '.join(INGESTION_MODES)}."
        )
    if source is None and (ref or path):
        raise InputError(
            "--ref and --path need a git address.", action="Give the repository's address."
        )
    if source is not None and (address := find_address(source, ref, path)):
        source = address.text
    job = await ingest(source, book, mode, quiet=json)  # type: ignore[arg-type]
    if json:
        print_json(job)
    if job.files_failed:  # the rest is in, but a script must notice
        raise typer.Exit(1)


async def ingest(
    source: Path | str | None, book_id: str | None, mode: IngestionMode, quiet: bool = False
) -> IngestionJob:
    """Ingest with a progress bar on a terminal and a line of result."""
    settings = load_settings()
    named = book_id is not None
    started = time.monotonic()
    async with (
        sending_traces(settings.tracing, settings.otlp_endpoint, settings.service_name),
        open_library(settings) as library,
    ):
        if source is None:
            known = await library.book(book_id)
            source, book_id = known.source, known.book_id
            await library.sources.check(book_id, source)
        if quiet or not sys.stderr.isatty():
            job = await library.ingest(source, book_id=book_id, mode=mode)
        else:
            job = await _with_progress_bar(library, source, book_id, mode)
        is_new = job.files_processed == job.total_files and job.chunks_created > 0
        is_new = is_new and not job.chunks_deleted
        new = await library.book(job.book_id) if is_new else None
        new_folder = new if _is_folder(source) else None
    for warning in job.warnings[:SHOWN_WARNINGS]:
        sys.stderr.write(f"Warning: {warning}\n")
    if len(job.warnings) > SHOWN_WARNINGS:
        more = len(job.warnings) - SHOWN_WARNINGS
        sys.stderr.write(f"… and {more} more warnings; `bythebook jobs --json` lists them.\n")
    if not quiet:
        sys.stdout.write(_summary(job, time.monotonic() - started) + "\n")
        if new_folder and not named and _is_generic(source):
            sys.stderr.write(NAMED.format(title=new_folder.title, book_id=new_folder.book_id))
        if new_folder and not new_folder.base_url:
            sys.stderr.write(NO_ADDRESS)
        if new:
            sys.stderr.write(NEXT.format(book_id=new.book_id))
    return job


def _is_folder(source: Path | str) -> bool:
    """With a place for a manifest, which a single file has not."""
    return Path(source).is_dir()


def _is_generic(source: Path | str) -> bool:
    from bythebook.reading.naming import is_generic

    return is_generic(Path(source).resolve())


async def _with_progress_bar(
    library: Library, source: Path | str, book_id: str | None, mode: IngestionMode
) -> IngestionJob:
    from rich.progress import TextColumn

    started = time.monotonic()
    with progress_bar(TextColumn("{task.fields[rate]}")) as progress:
        name = Path(source).name or str(source)
        task = progress.add_task(f"Reading {name}", total=None, rate="…")

        def show_fetching(report: CrawlReport) -> None:
            done = report.fetched + report.unchanged
            progress.update(task, total=done + report.waiting, completed=done, rate="pages fetched")

        def show(job: IngestionJob) -> None:
            rate = job.chunks_embedded / max(time.monotonic() - started, 0.001)
            progress.update(
                task,
                total=job.files_to_process,
                completed=job.files_processed,
                rate=f"files · {rate:.0f} passages/s",
            )

        return await library.ingest(
            source, book_id=book_id, mode=mode, on_progress=show, on_fetch=show_fetching
        )


def _summary(job: IngestionJob, seconds: float) -> str:
    files = counted(job.total_files, "file")
    if not (job.files_processed or job.files_deleted):
        return f"{job.book_id}: nothing changed in {files} ({seconds:.1f} s)."
    parts = [f"{job.files_processed} of {files} read"]
    if job.files_deleted:
        parts.append(f"{job.files_deleted} removed")
    parts.append(f"{counted(job.chunks_created, 'passage')} added, {job.chunks_deleted} removed")
    parts.append(f"{job.chunks_embedded} embedded")
    return f"{job.book_id}: {'; '.join(parts)} ({seconds:.1f} s)."


@async_command
async def books_command(
    remove: Annotated[
        str | None, typer.Option(help="Delete this book from the index. Its files stay.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the books as JSON.")] = False,
) -> None:
    """List the books in the index, or remove one."""
    async with open_library() as library:
        if remove is not None:
            removed = await library.remove_book(remove)
            passages = counted(removed.total_chunks, "passage")
            sys.stderr.write(f"Removed {removed.book_id} ({passages}).\n")
        known = await library.books()
    if json:
        print_json(known)
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


@async_command
async def jobs_command(
    book: Annotated[str | None, typer.Option("--book", help="Only jobs of this book.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to list.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print the jobs as JSON.")] = False,
) -> None:
    """List ingestion jobs, newest first.

    Each says how many files it found changed; with --book, the last one also names them.

    A job whose process died is shown as failed. Run the same ingest again to continue it.
    """
    async with open_library() as library:
        known = await library.jobs(book, limit)
    if json:
        print_json(known)
        return
    if not known:
        out().print("There are no jobs yet. Run `bythebook ingest PATH`.")
        return
    from rich.table import Column, Table

    # A terminal may have 80 columns: what is short stays whole, and the rest is broken, not cut.
    widest = min(WIDEST_ID, max(len(job.book_id) for job in known))
    table = Table(
        Column("job", no_wrap=True),
        Column("status", max_width=len("completed")),
        Column("files", no_wrap=True),
        Column("passages", no_wrap=True),
        Column("book", overflow="fold", min_width=widest),
        Column("started", max_width=len("2030-12-31")),
        Column("changes", overflow="fold", min_width=len("12 changed")),
        box=None,
        padding=(0, 2, 0, 0),
    )
    for job in known:
        mode = "" if job.mode == "incremental" else f" ({job.mode})"
        table.add_row(
            str(job.job_id),
            f"{job.status}{mode}",
            f"{job.files_processed}/{job.total_files}",
            f"+{job.chunks_created} -{job.chunks_deleted}",
            job.book_id,
            f"{job.started_at:%Y-%m-%d %H:%M}",
            "; ".join(_found(job)),
        )
    out().print(table)
    if book is not None and (changes := known[0].changes):
        for line in _named(changes):
            out().print(line, markup=False, highlight=False)


def _found(job: IngestionJob) -> Iterator[str]:
    if job.changes is not None:
        yield str(job.changes)
    if job.warnings and not job.error_message:
        yield counted(len(job.warnings), "warning")
    if job.error_message:
        yield job.error_message


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
