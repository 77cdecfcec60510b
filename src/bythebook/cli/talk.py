"""The conversation of `bythebook chat`, and how it is kept and found again."""

from __future__ import annotations

import sys

from bythebook.errors import BookNotFound, InputError
from bythebook.models.conversation import Conversation
from bythebook.threads.threads import Thread, Threads


class Talk:
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
            sys.stdout.write("\nThis conversation has been deleted; it is no longer kept.\n")

    def start_anew(self) -> None:
        self.conversation, self._is_new = Conversation(), True

    @property
    def resuming(self) -> str:
        """How to come back to it; nothing where it is not kept."""
        if self._threads is None:
            return ""
        return f"It is kept; go on later with: bythebook chat --session {self.conversation.id}\n"


async def kept_thread(threads: Threads, session: str) -> Thread:
    thread = await threads.load(session.strip())
    if thread is None:
        raise BookNotFound(
            f"There is no conversation {session!r}.",
            action="Start one that is kept with `bythebook chat --save`.",
        )
    return thread


def book_of(thread: Thread, wanted: str | None) -> str | None:
    """A conversation stays with its book."""
    about: str | None = thread.metadata.get("book_id")
    if None not in (about, wanted) and wanted != about:
        raise InputError(
            f"This conversation is about {about}.",
            action=f"Leave out --book, or talk about {wanted} in a new one.",
        )
    return about or wanted
