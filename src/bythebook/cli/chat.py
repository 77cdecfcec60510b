"""`bythebook chat`: a conversation with a book, kept in memory."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from bythebook.cli import filters
from bythebook.cli.ask import Threshold, TopK, Verbose, how, make_request
from bythebook.cli.output import print_error
from bythebook.errors import BookError

if TYPE_CHECKING:
    from bythebook.agent.assistant import Assistant
    from bythebook.models.answer import Answer

GOODBYES = frozenset({"quit", "exit", "q", "/quit", "/exit"})
HELP = "/sources shows the passages behind the last answer, /reset starts anew, quit ends."


@filters.takes_filters
def command(
    *,
    book: filters.Book = None,
    top_k: TopK = None,
    threshold: Threshold = None,
    verbose: Verbose = False,
    where: dict[str, Any],
) -> None:
    """Talk with a book; it remembers what was said until you leave."""
    request = make_request("chat", "hello", book, top_k, threshold, where)
    asyncio.run(_chat(how(request), verbose))


async def _chat(how: dict[str, Any], verbose: bool) -> None:
    from bythebook.agent.assistant import Assistant
    from bythebook.library import Library

    async with await Library.open() as library, Assistant(library) as assistant:
        book = await library.book(how["book_id"])
        sys.stdout.write(f"{book.title} · {assistant.model_name}\n{HELP}\n\n")
        await _talk(assistant, how, verbose)
    sys.stdout.write("Goodbye.\n")


async def _talk(assistant: Assistant, how: dict[str, Any], verbose: bool) -> None:
    from bythebook.cli.answers import show
    from bythebook.models.conversation import Conversation

    conversation = Conversation()
    last: Answer | None = None
    while (line := _read_line()) is not None and line.casefold() not in GOODBYES:
        if line == "/reset":
            conversation, last = Conversation(), None
            sys.stdout.write("The conversation is forgotten.\n")
        elif line == "/sources":
            _show_sources(last)
        elif not line:
            sys.stdout.write("Please provide a question.\n")
        elif line.startswith("/"):
            sys.stdout.write(f"{HELP}\n")
        else:
            try:
                events = assistant.stream(line, conversation, **how)
                last = await show(events, verbose, opening="Agent: ")
            except BookError as problem:
                print_error(problem, as_json=False)
        sys.stdout.write("\n")


def _show_sources(answer: Answer | None) -> None:
    from bythebook.models.conversation import source_label

    if answer is None or not answer.citations:
        sys.stdout.write("There is no answer with sources yet.\n")
        return
    for citation in answer.citations:
        passage = citation.passage
        sys.stdout.write(f"[{citation.number}] {source_label(passage)}\n")
        sys.stdout.write(f"{passage.metadata.url}\n\n{passage.text}\n\n")


def _read_line() -> str | None:
    """What the person typed; None when they left."""
    try:
        return input("You: ").strip()
    except (EOFError, KeyboardInterrupt):
        sys.stdout.write("\n")
        return None
