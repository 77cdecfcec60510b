"""`bythebook chat`: a conversation with a book, in memory unless it is to be kept."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bythebook.cli import filters
from bythebook.cli.ask import Threshold, TopK, Verbose, how, make_request
from bythebook.cli.output import print_error
from bythebook.errors import BookError

if TYPE_CHECKING:
    from bythebook.agent.assistant import Assistant
    from bythebook.cli.talk import Talk
    from bythebook.models.answer import Answer

GOODBYES = frozenset({"quit", "exit", "q", "/quit", "/exit"})
HELP = "/sources shows the passages behind the last answer, /reset starts anew, quit ends."


@filters.takes_filters
def command(
    *,
    book: filters.Book = None,
    save: Annotated[
        bool, typer.Option("--save", help="Keep the conversation, to go on with it later.")
    ] = False,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on with a conversation that was kept.")
    ] = None,
    top_k: TopK = None,
    threshold: Threshold = None,
    verbose: Verbose = False,
    where: dict[str, Any],
) -> None:
    """Talk with a book; it remembers what was said until you leave, or for good with --save."""
    request = make_request("chat", "hello", book, top_k, threshold, where)
    asyncio.run(_chat(how(request), save, session, verbose))


async def _chat(how: dict[str, Any], save: bool, session: str | None, verbose: bool) -> None:
    from bythebook.agent.assistant import Assistant
    from bythebook.cli.talk import Talk, book_of, kept_thread
    from bythebook.library import Library
    from bythebook.threads.threads import Threads

    async with await Library.open() as library, Assistant(library) as assistant:
        threads = Threads(library.engine) if save or session is not None else None
        thread = await kept_thread(threads, session) if threads and session is not None else None
        if thread:
            how["book_id"] = book_of(thread, how["book_id"])
        book = await library.book(how["book_id"])
        talk = Talk(threads, thread, book.book_id)
        sys.stdout.write(f"{book.title} · {assistant.model_name}\n{HELP}\n{talk.resuming}")
        if thread:
            sys.stdout.write(f"You last asked: {thread.conversation.turns[-1].question}\n")
        sys.stdout.write("\n")
        await _talk(assistant, talk, how, verbose)
    sys.stdout.write("Goodbye.\n")


async def _talk(assistant: Assistant, talk: Talk, how: dict[str, Any], verbose: bool) -> None:
    from bythebook.cli.answers import show

    last: Answer | None = None
    while (line := _read_line()) is not None and line.casefold() not in GOODBYES:
        if line == "/reset":
            talk.start_anew()
            last = None
            sys.stdout.write(
                f"A new conversation begins. {talk.resuming}"
                if talk.resuming
                else "The conversation is forgotten.\n"
            )
        elif line == "/sources":
            _show_sources(last)
        elif not line:
            sys.stdout.write("Please provide a question.\n")
        elif line.startswith("/"):
            sys.stdout.write(f"{HELP}\n")
        else:
            try:
                events = assistant.stream(line, talk.conversation, **how)
                last = await show(events, verbose, opening="Agent: ")
                await talk.keep()
            except BookError as problem:
                print_error(problem, as_json=False)
        sys.stdout.write("\n")


def _show_sources(answer: Answer | None) -> None:
    if answer is None or not answer.citations:
        sys.stdout.write("There is no answer with sources yet.\n")
        return
    for citation in answer.citations:
        sys.stdout.write(f"[{citation.number}] {citation.label}\n")
        sys.stdout.write(f"{citation.url}\n\n{citation.passage.text}\n\n")


def _read_line() -> str | None:
    """What the person typed; None when they left."""
    try:
        return input("You: ").strip()
    except (EOFError, KeyboardInterrupt):
        sys.stdout.write("\n")
        return None
