"""The conversation inside, and what it says of itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.models.conversation import ConversationThread, Turn, summarize
from bythebook.models.passage import label_of
from models.samples import (
    answer,
    conversation,
    passage,
    refusal,
)

AT = datetime(2025, 12, 17, 14, 20, tzinfo=UTC)


@pytest.mark.parametrize(("turns", "summarized"), [(1, False), (4, False), (5, True), (9, True)])
def test_summary_from_the_fifth_exchange_on(turns: int, summarized: bool) -> None:
    talk = conversation(turns)
    assert bool(talk.topic_summary) == summarized
    made = ConversationThread.of(talk)
    assert made.topic_summary == (talk.topic_summary or None)


def test_summary_names_pages_once_and_late_topics_first() -> None:
    turns = [
        Turn("What is a node?", "…", ("The ROS Graph › Nodes", "Your First Node › The code")),
        Turn("How do they meet?", "…", ("The ROS Graph › Discovery",)),
        Turn("What does it cost?", "…", refused=True),
        Turn("What is URDF?", "…", ("URDF › Links", "URDF › Joints")),
        Turn("Show an example.", "…", ("URDF › Links",)),
    ]
    assert summarize(turns) == (
        "URDF: Links, Joints; The ROS Graph: Discovery, Nodes; Your First Node: The code"
        " — What is a node? / How do they meet? / What does it cost? / What is URDF?"
        " / Show an example."
    )
    assert summarize(turns) == summarize(list(turns))


def test_summary_of_refusals_is_what_was_asked() -> None:
    assert summarize([Turn("Who won?", "…"), Turn("And who lost?", "…")]) == (
        "Who won? / And who lost?"
    )
    assert summarize([]) == ""


WORDS = st.text("abcdefgh ÄÖ", min_size=1, max_size=120).filter(lambda text: bool(text.strip()))


@given(st.lists(st.tuples(WORDS, st.lists(WORDS, max_size=4)), min_size=1, max_size=30))
def test_summary_is_short_and_cuts_no_word(talk: list[tuple[str, list[str]]]) -> None:
    turns = [Turn(question, "…", tuple(sources)) for question, sources in talk]
    made = summarize(turns)
    assert len(made) <= 200
    known = {word for question, sources in talk for word in " ".join([question, *sources]).split()}
    assert {word.rstrip(",;…") for word in made.split()} <= known | {"—", "/"}


def test_summary_of_one_endless_question() -> None:
    assert summarize([Turn("word " * 100, "…")]) == "word " * 39 + "word…"
    assert summarize([Turn("x" * 300, "…")]) == ""
    assert summarize([Turn("机" * 300, "…")]) == "机" * 199 + "…"


def test_turn_of_an_answer() -> None:
    told = answer()
    made = Turn.of(told, AT)
    assert (made.question, made.answer, made.refused) == (told.question, told.text, False)
    assert made.sources == ("Nodes › 3.2 What a node is",) * 2
    assert (made.asked_at, made.answered_at) == (AT, told.created_at)
    assert made.confidence == pytest.approx(0.9) and made.tool_calls == told.tool_calls
    assert Turn.of(refusal()).sources == ()


def test_label_of_a_page_without_sections() -> None:
    assert label_of(passage(section_title=None).metadata) == "Nodes"
    assert label_of(passage(section_title="Nodes").metadata) == "Nodes"


@pytest.mark.parametrize(("size", "first"), [(0, None), (1, 4), (3, 2), (5, 0), (9, 0)])
def test_window_is_the_last_turns(size: int, first: int | None) -> None:
    talk = conversation(5)
    assert talk.window(size) == ([] if first is None else talk.turns[first:])
