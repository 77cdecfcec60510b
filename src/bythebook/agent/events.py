"""What happens during a turn, in order. The last one is Done or Failed, and only that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bythebook.errors import BookError
from bythebook.models.answer import Answer
from bythebook.models.confidence import ConfidenceMetrics
from bythebook.models.passage import Passage
from bythebook.models.state_machine import AgentState


@dataclass(frozen=True)
class StateChanged:
    """S0's progress of the request."""

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
