"""`bythebook ingest`: a folder of Markdown becomes searchable."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.output import err, print_json
from bythebook.errors import InputError
from bythebook.models.vocabulary import INGESTION_MODES

if TYPE_CHECKING:
    from bythebook.library import Library
    from bythebook.models.job import IngestionJob
    from bythebook.models.vocabulary import IngestionMode

SHOWN_WARNINGS = 10


def command(
    path: Annotated[Path, typer.Argument(help="Folder of the book.")],
    book: Annotated[
        str | None, typer.Option("--book", help="Id of the book; else the manifest's or folder's.")
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="incremental: only what changed; full: read every file again, reusing vectors; "
            "recreate: build the book's index anew."
        ),
    ] = "incremental",
    json: Annotated[bool, typer.Option("--json", help="Print the job as JSON.")] = False,
) -> None:
    """Read a book into the index, or bring the index up to date with it."""
    if mode not in INGESTION_MODES:
        raise InputError(
            f"There is no mode {mode!r}.", action=f"Choose one of: {', '.join(INGESTION_MODES)}."
        )
    job = asyncio.run(ingest(path, book, mode, quiet=json))  # type: ignore[arg-type]
    if json:
        print_json(job.model_dump(mode="json"))
    if job.files_failed:  # the rest is in, but a script must notice
        raise typer.Exit(1)


async def ingest(
    path: Path, book_id: str | None, mode: IngestionMode, quiet: bool = False
) -> IngestionJob:
    """Ingest with a progress bar on a terminal and a line of result."""
    from bythebook.library import Library

    started = time.monotonic()
    async with await Library.open() as library:
        if quiet or not sys.stderr.isatty():
            job = await library.ingest(path, book_id=book_id, mode=mode)
        else:
            job = await _with_progress_bar(library, path, book_id, mode)
    for warning in job.warnings[:SHOWN_WARNINGS]:
        sys.stderr.write(f"Warning: {warning}\n")
    if len(job.warnings) > SHOWN_WARNINGS:
        more = len(job.warnings) - SHOWN_WARNINGS
        sys.stderr.write(f"… and {more} more warnings; `bythebook jobs --json` lists them.\n")
    if not quiet:
        sys.stdout.write(_summary(job, time.monotonic() - started) + "\n")
    return job


async def _with_progress_bar(
    library: Library, path: Path, book_id: str | None, mode: IngestionMode
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
        TextColumn("files · {task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err(), transient=True) as progress:
        task = progress.add_task(f"Reading {path.name}", total=None, rate="…")

        def show(job: IngestionJob) -> None:
            rate = job.chunks_embedded / max(time.monotonic() - started, 0.001)
            progress.update(
                task,
                total=job.files_to_process,
                completed=job.files_processed,
                rate=f"{rate:.0f} passages/s",
            )

        return await library.ingest(path, book_id=book_id, mode=mode, on_progress=show)


def _summary(job: IngestionJob, seconds: float) -> str:
    if not (job.files_processed or job.files_deleted):
        return f"{job.book_id}: nothing changed in {job.total_files} files ({seconds:.1f} s)."
    parts = [f"{job.files_processed} of {job.total_files} files read"]
    if job.files_deleted:
        parts.append(f"{job.files_deleted} removed")
    parts.append(f"{job.chunks_created} passages added, {job.chunks_deleted} removed")
    parts.append(f"{job.chunks_embedded} embedded")
    return f"{job.book_id}: {'; '.join(parts)} ({seconds:.1f} s)."
