"""The scores of passages that the reader judged: each its own, falling, and spread."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.models.passage import level_of
from bythebook.retrieval.calibration import THRESHOLD
from bythebook.retrieval.reranker import ANSWERS, scores_of

readings = st.lists(st.floats(0.0005, 0.9995), min_size=1, max_size=5)


@given(readings, st.integers(0, 10))
def test_scores_fall_and_the_first_decides(likely: list[float], unread: int) -> None:
    scores = scores_of(likely, len(likely) + unread)
    assert len(scores) == len(likely) + unread
    assert scores == sorted(scores, reverse=True) and scores[-1] > 0 and scores[0] <= 1
    if likely[0] >= ANSWERS:
        assert min(scores) >= THRESHOLD
    else:
        assert max(scores) < THRESHOLD


@given(st.floats(ANSWERS, 0.999), st.integers(2, 10))
def test_one_passage_that_answers_is_enough(likely: float, count: int) -> None:
    scores = scores_of([likely, *[0.001] * (count - 1)], count)
    assert level_of(sum(scores) / count, count) != "insufficient"


def test_the_probability_can_be_had_back() -> None:
    scores = scores_of([0.8, 0.3, 0.01], 5)
    assert [(score - 0.7) / 0.3 for score in scores] == pytest.approx(
        [0.8, 0.3, 0.01, 0.005, 0.0025]
    )
    assert scores_of([0.1, 0.05], 2) == pytest.approx([0.7 * 0.1 / 0.15, 0.7 * 0.05 / 0.15])


def test_release_notes_have_no_more_than_the_page_before_them() -> None:
    first, notes = scores_of([0.4, 0.6], 2)
    assert first == notes == pytest.approx(0.82)
