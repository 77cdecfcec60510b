"""`bythebook jobs`: what ingests did."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from bythebook.cli.output import out, print_json


def command(
    book: Annotated[str | None, typer.Option("--book", help="Only jobs of this book.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print the jobs as JSON.")] = False,
) -> None:
    """List ingestion jobs, newest first."""
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

    table = Table("job", "book", "mode", "status", "started", "files", "passages", "", box=None)
    for job in known:
        table.add_row(
            str(job.job_id),
            job.book_id,
            job.mode,
            job.status,
            f"{job.started_at:%Y-%m-%d %H:%M}",
            f"{job.files_processed}/{job.total_files}",
            f"+{job.chunks_created} -{job.chunks_deleted}",
            job.error_message or (f"{len(job.warnings)} warnings" if job.warnings else ""),
        )
    out().print(table)
