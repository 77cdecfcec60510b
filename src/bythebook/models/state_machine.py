"""S0's states of a request, which are what a client sees as progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from bythebook.models.chunk import now

AgentState = Literal[
    "received", "processing", "tool_call_needed", "tool_executed", "response_generated", "failed"
]
AGENT_STATES: tuple[AgentState, ...] = get_args(AgentState)

TRANSITIONS: Mapping[AgentState, frozenset[AgentState]] = {
    "received": frozenset(["processing", "failed"]),
    "processing": frozenset(["tool_call_needed", "response_generated", "failed"]),
    "tool_call_needed": frozenset(["tool_executed", "failed"]),
    "tool_executed": frozenset(["response_generated", "failed"]),
    "response_generated": frozenset(["failed"]),
    "failed": frozenset(["processing"]),
}


class IllegalTransition(ValueError):
    """A move that S0 does not list: a bug of the caller, never shown to a person."""

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
