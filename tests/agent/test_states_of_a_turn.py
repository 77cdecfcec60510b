"""The states of a turn and the ways between them."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.agent.events import (
    AgentState,
    IllegalTransition,
    StateMachine,
)
from bythebook.errors import BookError

# States

LISTED: set[tuple[AgentState, AgentState]] = {
    ("received", "processing"),
    ("processing", "tool_call_needed"),
    ("tool_call_needed", "tool_executed"),
    ("tool_executed", "response_generated"),
    ("processing", "response_generated"),
    ("failed", "processing"),
    ("received", "failed"),
    ("processing", "failed"),
    ("tool_call_needed", "failed"),
    ("tool_executed", "failed"),
    ("response_generated", "failed"),
}
WAYS: dict[AgentState, list[AgentState]] = {
    "received": [],
    "processing": ["processing"],
    "tool_call_needed": ["processing", "tool_call_needed"],
    "tool_executed": ["processing", "tool_call_needed", "tool_executed"],
    "response_generated": ["processing", "response_generated"],
    "failed": ["failed"],
}


def machine_in(state: AgentState) -> StateMachine:
    machine = StateMachine()
    for step in WAYS[state]:
        machine.move(step)
    assert machine.state == state
    return machine


@pytest.mark.parametrize("state", get_args(AgentState))
@pytest.mark.parametrize("to", get_args(AgentState))
def test_exactly_the_listed_transitions(state: AgentState, to: AgentState) -> None:
    machine = machine_in(state)
    before = machine.history
    assert machine.can_move(to) == ((state, to) in LISTED)
    if (state, to) in LISTED:
        assert machine.move(to).state == machine.state == to
        assert machine.history[:-1] == before
    else:
        with pytest.raises(IllegalTransition, match=f"{state} .* {to}"):
            machine.move(to)
        assert machine.history == before


def test_states_are_the_listed_ones() -> None:
    assert set(get_args(AgentState)) == {state for transition in LISTED for state in transition}


def test_an_illegal_transition_is_a_bug() -> None:
    assert issubclass(IllegalTransition, ValueError)
    assert not issubclass(IllegalTransition, BookError)


@given(st.lists(st.sampled_from(get_args(AgentState))))
def test_history_holds_only_listed_transitions(wishes: list[AgentState]) -> None:
    machine = StateMachine()
    for wish in wishes:
        if machine.can_move(wish):
            machine.move(wish)
    steps = [step.state for step in machine.history]
    assert steps[0] == "received" and steps[-1] == machine.state
    assert set(pairwise(steps)) <= LISTED
    times = [step.at for step in machine.history]
    assert times == sorted(times) and all(time.tzinfo for time in times)
