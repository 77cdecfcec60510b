"""`bythebook ingest`: a folder, a web site or a git repository becomes searchable."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.terminal import err, print_json
from bythebook.errors import InputError
from bythebook.models.values import INGESTION_MODES

if TYPE_CHECKING:
    from bythebook.fetching.crawl import CrawlReport
    from bythebook.library import Library
    from bythebook.models.job import IngestionJob
    from bythebook.models.values import IngestionMode


SHOWN_WARNINGS = 10
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


def ingest_command(
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
    job = asyncio.run(ingest(source, book, mode, quiet=json))  # type: ignore[arg-type]
    if json:
        print_json(job.model_dump(mode="json"))
    if job.files_failed:  # the rest is in, but a script must notice
        raise typer.Exit(1)


async def ingest(
    source: Path | str | None, book_id: str | None, mode: IngestionMode, quiet: bool = False
) -> IngestionJob:
    """Ingest with a progress bar on a terminal and a line of result."""
    from bythebook.library import Library
    from bythebook.settings import load_settings
    from bythebook.tracing.sending import sending_traces

    settings = load_settings()
    named = book_id is not None
    started = time.monotonic()
    async with (
        sending_traces(settings.tracing, settings.otlp_endpoint, settings.service_name),
        await Library.open(settings) as library,
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
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    started = time.monotonic()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err(), transient=True) as progress:
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
    files = "1 file" if job.total_files == 1 else f"{job.total_files} files"
    if not (job.files_processed or job.files_deleted):
        return f"{job.book_id}: nothing changed in {files} ({seconds:.1f} s)."
    parts = [f"{job.files_processed} of {files} read"]
    if job.files_deleted:
        parts.append(f"{job.files_deleted} removed")
    parts.append(f"{job.chunks_created} passages added, {job.chunks_deleted} removed")
    parts.append(f"{job.chunks_embedded} embedded")
    return f"{job.book_id}: {'; '.join(parts)} ({seconds:.1f} s)."
