"""Grouping: every question in exactly one group, the same groups whatever the order."""

from __future__ import annotations

import asyncio
import random
from array import array
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bythebook.embedding.embedder import MiniLM
from bythebook.gaps import ALIKE, by_wording, gap_of, grouped, most_asked_first, plain
from bythebook.models.asked_question import Gap
from bythebook.questions import Unanswered
from extent import examples

BREAD = ("How do I bake bread?", "baking a loaf of bread", "Is there a recipe for bread?")
LIDAR = ("What does a lidar cost?", "price of a lidar sensor", "how expensive is a lidar")
OTHERS = ("Who wrote this book?", "Is it legal to fly a drone in town?", "???", "   Wer?  ")
QUESTIONS = (*BREAD, *LIDAR, *OTHERS, "HOW DO I BAKE  BREAD", "how do i bake bread!")
START = datetime(2026, 11, 1, tzinfo=UTC)


@cache
def vectors() -> dict[str, array[float]]:
    async def embed() -> list[array[float]]:
        embedder = MiniLM(threads=1)
        try:
            return await embedder.embed_documents(texts)
        finally:
            await embedder.close()

    texts = sorted({plain(question) for question in QUESTIONS})
    return dict(zip(texts, asyncio.run(embed()), strict=True))


def gaps_of(asked: list[Unanswered]) -> Iterator[Gap]:
    wordings = by_wording(asked)
    found = [vectors()[text] for _, text in wordings]
    askings = list(wordings.values())
    for group in grouped(np.stack(found), [len(one) for one in askings]):
        yield gap_of([askings[row] for row in group])


def unanswered(question: str, **fields: Any) -> Unanswered:
    return Unanswered(
        **{
            "book_id": "tides",
            "question": question,
            "session_id": str(UUID(int=1)),
            "outcome": "refused",
            "nearest": [],
            "rating": None,
            "reason": None,
            "asked_at": START,
            "confidence_level": "low",  # where it was answered
            **fields,
        }
    )


def test_what_means_the_same_is_one_gap() -> None:
    asked = [unanswered(question) for question in (*BREAD, *LIDAR, BREAD[1])]
    found = sorted(gaps_of(asked), key=most_asked_first)
    assert [(gap.question, gap.asked, gap.different) for gap in found] == [
        (BREAD[1], 4, 3),
        (found[1].question, 3, 3),
    ]
    assert {found[1].question, *found[1].wordings} == set(LIDAR)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is a URDF?", "  what is a\u00a0urdf ?!"),
        ("¿Qué es un nodo?", "qué es un nodo"),
        ("What's up?", "what’s up"),
        ("“Where?”", "“where?”"),
    ],
)
def test_how_it_was_typed_makes_no_difference(one: str, other: str) -> None:
    assert plain(one) == plain(other)


def test_words_and_code_do() -> None:
    different = ["C++", "C#", "a", "A?", "!", "?"]
    assert len({plain(text) for text in different}) == len(different) - 1


asking = st.builds(
    unanswered,
    st.sampled_from(QUESTIONS),
    session_id=st.integers(1, 4).map(lambda number: str(UUID(int=number))),
    outcome=st.sampled_from(["refused", "answered"]),
    nearest=st.sampled_from([[], ["Old"], [{"title": "Tides", "url": "https://a.example/tides"}]]),
    rating=st.sampled_from([None, "up", "down"]),
    reason=st.sampled_from([None, "bad", "worse"]),
    asked_at=st.integers(0, 5).map(lambda hours: START + timedelta(hours=hours)),
)


@settings(max_examples=examples(60))
@given(st.lists(asking, min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_no_order_changes_the_gaps_and_counts_add_up(
    asked: list[Unanswered], chance: random.Random
) -> None:
    found = sorted(gaps_of(asked), key=most_asked_first)
    mixed = list(asked)
    chance.shuffle(mixed)
    assert sorted(gaps_of(mixed), key=most_asked_first) == found
    assert sum(gap.asked for gap in found) == len(asked)
    assert sum(gap.different for gap in found) == len({plain(one.question) for one in asked})
    for kind, value in (("refused", "refused"), ("low", "answered")):
        counted = sum(getattr(gap, kind) for gap in found)
        assert counted == sum(one.outcome == value for one in asked)
    for rating in ("up", "down"):
        counted = sum(getattr(gap, rating) for gap in found)
        assert counted == sum(one.rating == rating for one in asked)
    for gap in found:
        assert gap.refused + gap.low == gap.asked >= gap.sessions
        assert len(gap.wordings) == gap.different - 1


@given(
    st.integers(1, 700),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.3, ALIKE, 0.95]),
)
@settings(max_examples=examples(25))
def test_groups_of_any_vectors(count: int, seed: int, alike: float) -> None:
    """Few dimensions, so that there are groups; more rows than are compared at a time."""
    made = np.random.default_rng(seed)
    rows = made.standard_normal((count, 6)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    weights = made.integers(1, 50, count).tolist()
    groups = grouped(rows, weights, alike)
    assert sorted(row for group in groups for row in group) == list(range(count))
    centres = rows[[group[0] for group in groups]]
    between = centres @ centres.T - np.eye(len(centres))
    assert (between < alike + 1e-5).all(), "two centres that are alike are one"
    for group, centre in zip(groups, centres, strict=True):
        likeness = rows[group] @ centre
        assert (likeness > alike - 1e-5).all(), "all are like the centre"
        assert (likeness >= (rows[group] @ centres.T).max(axis=1) - 1e-5).all(), "and no other more"


@settings(max_examples=examples(25))
@given(st.permutations(range(12)), st.integers(0, 2**32 - 1))
def test_different_weights_leave_nothing_to_the_order(order: list[int], seed: int) -> None:
    rows = np.random.default_rng(seed).standard_normal((12, 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    weights = [2**row for row in range(12)]
    expected = {frozenset(group) for group in grouped(rows, weights, 0.5)}
    mixed = grouped(rows[order], [weights[row] for row in order], 0.5)
    assert {frozenset(order[row] for row in group) for group in mixed} == expected
