"""Who writes an answer: a language model, or the built-in answerer that quotes the book."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from bythebook.agent.turn import TurnState
from bythebook.extractive.answer import Quote
from bythebook.models.conversation import Conversation

Write = Callable[[str | Quote], Awaitable[None]]


class Writer(Protocol):
    """Searches through the turn's own tool, and writes from what that found. It may write whatever
    it likes: what of it is shown is decided behind `write`. A quotation is shown as it is."""

    @property
    def name(self) -> str: ...

    @property
    def quotes(self) -> bool:
        """Whether it says what the book says, word for word, and so can't translate."""

    async def search_and_write(
        self, state: TurnState, conversation: Conversation, write: Write
    ) -> None:
        """One turn. Weak evidence ends it before anything is written."""

    async def reply(self, state: TurnState, instructions: str, text: str) -> str:
        """What it says to a request beside the conversation; a writer that only quotes has nothing
        to say."""
