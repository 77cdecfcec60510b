"""`bythebook demo`: the sample book, searched, with nothing to set up."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

QUESTION = "When should I use an action instead of a service?"


def command(
    question: Annotated[str, typer.Argument(help="What to ask the sample book.")] = QUESTION,
) -> None:
    """Ingest the sample book and search it."""
    asyncio.run(_demo(question))


async def _demo(question: str) -> None:
    from bythebook.cli.ingest import ingest
    from bythebook.cli.search import search
    from bythebook.library import sample_book

    job = await ingest(sample_book(), None, "incremental")
    sys.stdout.write(f"\n$ bythebook search {question!r} --book {job.book_id}\n\n")
    sys.stdout.flush()
    await search(job.book_id, {"text": question, "limit": 3, "hardware_tier_filter": 4})
