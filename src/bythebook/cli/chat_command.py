"""`bythebook chat`: a conversation with a book, in memory unless it is to be kept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bythebook.cli.ask_commands import (
    Book,
    Threshold,
    TopK,
    Verbose,
    assistant_options,
    chosen_book,
    make_request,
    takes_filters,
)
from bythebook.cli.terminal import async_command, open_library, print_error
from bythebook.errors import BookError, BookNotFound, InputError
from bythebook.models.conversation import Conversation, ConversationState

if TYPE_CHECKING:
    from bythebook.agent.assistant import Assistant
    from bythebook.library import Library
    from bythebook.models.answer import Answer
    from bythebook.threads import Thread, Threads


class ChatSession:
    """The conversation at the prompt. With threads, every turn is kept."""

    def __init__(self, threads: Threads | None, thread: Thread | None, book_id: str) -> None:
        self.conversation = thread.conversation if thread else Conversation()
        self._threads = threads
        self._is_new = thread is None
        self._book_id = book_id

    async def keep(self) -> None:
        """Keep the last turn."""
        if self._threads is None:
            return
        kept = await self._threads.append(
            self.conversation.id,
            self.conversation.turns[-1],
            # No key: it belongs to whoever works on this machine.
            metadata={"book_id": self._book_id, "key_id": None},
            is_new=self._is_new,
        )
        self._is_new = False
        if not kept:
            self._threads = None
            sys.stdout.write("\nThis conversation has been deleted; it is no longer saved.\n")

    def start_anew(self) -> None:
        self.conversation, self._is_new = Conversation(), True

    @property
    def resuming(self) -> str:
        """How to come back to it; nothing where it is not kept."""
        if self._threads is None:
            return ""
        session = self.conversation.id
        return f"It is saved. To continue it later, run: bythebook chat --session {session}\n"


def write_state(file: Path, state: ConversationState) -> None:
    try:
        file.write_text(state.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as problem:
        raise InputError(
            f"The conversation can't be written to {file}: {problem.strerror or problem}.",
            action="Give --export another file.",
        ) from problem


async def kept_thread(threads: Threads, session: str) -> Thread:
    thread = await threads.load(session.strip())
    if thread is None:
        raise BookNotFound(
            f"There is no conversation {session!r}.",
            action="Start a saved one with `bythebook chat --save`.",
        )
    return thread


def book_of(thread: Thread, wanted: str | None) -> str | None:
    """A conversation stays with its book."""
    about: str | None = thread.metadata.get("book_id")
    if None not in (about, wanted) and wanted != about:
        raise InputError(
            f"This conversation is about {about}.",
            action=f"Leave out --book, or ask about {wanted} in a new one.",
        )
    return about or wanted


GOODBYES = frozenset({"quit", "exit", "q", "/quit", "/exit"})
HELP = "/sources shows the passages behind the last answer, /reset starts over, quit ends."


@takes_filters
@async_command
async def chat_command(
    *,
    book: Book = None,
    save: Annotated[
        bool, typer.Option("--save", help="Save the conversation, to continue it later.")
    ] = False,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Continue a saved conversation.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Write the conversation to a file as JSON when you leave.",
        ),
    ] = None,
    top_k: TopK = None,
    threshold: Threshold = None,
    verbose: Verbose = False,
    where: dict[str, Any],
) -> None:
    """Talk with a book. The conversation is not kept when you leave, unless you use --save.

    Commands: /sources shows the passages behind the last answer, /reset starts over; quit, exit,
    q, Ctrl-C or Ctrl-D ends. Questions may be piped in, one a line.
    """
    request = make_request("chat", "hello", book, top_k, threshold, where)
    how = assistant_options(request)
    from bythebook.agent.assistant import Assistant
    from bythebook.threads import Threads

    async with open_library() as library, Assistant(library) as assistant:
        threads = Threads(library.engine) if save or session is not None else None
        thread = await kept_thread(threads, session) if threads and session is not None else None
        if thread:
            how["book_id"] = book_of(thread, how["book_id"])
        about = await chosen_book(library, how["book_id"])
        how["book_id"] = about.book_id
        chat = ChatSession(threads, thread, about.book_id)
        sys.stdout.write(f"{about.title} · {assistant.model_name}\n{HELP}\n{chat.resuming}")
        if thread:
            sys.stdout.write(f"You last asked: {thread.conversation.turns[-1].question}\n")
        sys.stdout.write("\n")

        async def write() -> None:
            if export is not None:
                state = await assistant.state_of(chat.conversation, about.book_id)
                write_state(export, state)

        await write()  # a file that can't be written is told before anything is asked
        try:
            await _converse(library, assistant, chat, how, verbose)
        finally:
            await write()
    sys.stdout.write("Goodbye.\n")


async def _converse(
    library: Library, assistant: Assistant, chat: ChatSession, how: dict[str, Any], verbose: bool
) -> None:
    from bythebook.cli.answer_view import show

    last: Answer | None = None
    while (line := _read_line()) is not None and line.casefold() not in GOODBYES:
        if line == "/reset":
            chat.start_anew()
            last = None
            sys.stdout.write(
                f"A new conversation begins. {chat.resuming}"
                if chat.resuming
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
                events = assistant.stream(line, chat.conversation, **how)
                last = await show(events, verbose, opening="Agent: ")
                await chat.keep()
            except BookError as problem:
                print_error(problem, as_json=False)
            await library.close_index()  # nobody else could use it while this waits for a person
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
