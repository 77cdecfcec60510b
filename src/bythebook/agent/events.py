"""What happens during a turn, the states it goes through, and the interface of a writer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from bythebook.errors import BookError
from bythebook.extractive.quotes import Quote
from bythebook.models.answer import Answer
from bythebook.models.chunk import now
from bythebook.models.conversation import Conversation
from bythebook.models.passage import ConfidenceMetrics, Passage

if TYPE_CHECKING:
    from bythebook.agent.turn import TurnState


AgentState = Literal[
    "received", "processing", "tool_call_needed", "tool_executed", "response_generated", "failed"
]

TRANSITIONS: Mapping[AgentState, frozenset[AgentState]] = {
    "received": frozenset(["processing", "failed"]),
    "processing": frozenset(["tool_call_needed", "response_generated", "failed"]),
    "tool_call_needed": frozenset(["tool_executed", "failed"]),
    "tool_executed": frozenset(["response_generated", "failed"]),
    "response_generated": frozenset(["failed"]),
    "failed": frozenset(["processing"]),
}


class IllegalTransition(ValueError):
    """A move that is not listed: a bug of the caller, never shown to a person."""

    def __init__(self, state: AgentState, to: AgentState) -> None:
        super().__init__(f"from {state} there is no way to {to}")
        self.state = state
        self.to = to


@dataclass(frozen=True)
class Step:
    """A state and when it was reached."""

    state: AgentState
    at: datetime = field(default_factory=now)


class StateMachine:
    """Where one request is, and how it came there."""

    def __init__(self) -> None:
        self._steps = [Step("received")]

    @property
    def state(self) -> AgentState:
        return self._steps[-1].state

    @property
    def history(self) -> tuple[Step, ...]:
        return tuple(self._steps)

    def can_move(self, to: AgentState) -> bool:
        return to in TRANSITIONS[self.state]

    def move(self, to: AgentState) -> Step:
        if not self.can_move(to):
            raise IllegalTransition(self.state, to)
        self._steps.append(Step(to))
        return self._steps[-1]


@dataclass(frozen=True)
class StateChanged:
    """How far the request is."""

    state: AgentState


@dataclass(frozen=True)
class ToolCalled:
    """The model asked for a search."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Retrieved:
    """What a search found that may be cited, and how sure the book can answer."""

    query: str
    passages: tuple[Passage, ...]
    confidence: ConfidenceMetrics
    total_found: int = 0
    milliseconds: float = 0.0


@dataclass(frozen=True)
class Token:
    """Text of the answer, verified; joined together the tokens are the answer's text."""

    text: str


@dataclass(frozen=True)
class Done:
    answer: Answer


@dataclass(frozen=True)
class Failed:
    error: BookError


Event = StateChanged | ToolCalled | Retrieved | Token | Done | Failed
Terminal = Done | Failed


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

    async def reply(self, state: TurnState, instructions: str, text: str, tokens: int) -> str:
        """What it says, in at most so many tokens, to a request beside the conversation; a writer
        that only quotes has nothing to say."""
