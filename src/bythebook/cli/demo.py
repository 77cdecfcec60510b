"""`bythebook demo`: the sample book, asked, with nothing to set up."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

QUESTION = "When should I use an action instead of a service?"
UNCOVERED = "How do I bake sourdough bread?"


def command(
    question: Annotated[str, typer.Argument(help="What to ask the sample book.")] = QUESTION,
) -> None:
    """Ingest the sample book, ask it something it knows, and something it does not."""
    asyncio.run(_demo(question))


async def _demo(question: str) -> None:
    from bythebook.agent.assistant import Assistant
    from bythebook.cli.answers import show
    from bythebook.cli.ingest import ingest
    from bythebook.library import Library, sample_book

    # In full: a book that an earlier version cut into passages is cut anew.
    job = await ingest(sample_book(), None, "full")
    async with await Library.open() as library, Assistant(library) as assistant:
        for asked in (question, UNCOVERED):
            sys.stdout.write(f"\n$ bythebook ask {asked!r} --book {job.book_id}\n\n")
            await show(assistant.stream(asked, book_id=job.book_id), verbose=False)
