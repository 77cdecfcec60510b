"""Every field, bound and rule of how sure a retrieval is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.models.passage import ConfidenceMetrics, Passage, level_of
from bythebook.retrieval.calibration import assess, diversity
from models.samples import (
    has_fields,
    passage,
    passages,
    refuses,
    requires,
)

# ConfidenceMetrics

METRICS: dict[str, Any] = {
    "average_similarity": 0.87,
    "min_similarity": 0.78,
    "max_similarity": 0.94,
    "num_chunks": 5,
    "chunk_diversity": 0.23,
    "confidence_level": "high",
    "should_answer": True,
}


def test_metrics_fields() -> None:
    has_fields(
        ConfidenceMetrics,
        average_similarity="number",
        min_similarity="number",
        max_similarity="number",
        num_chunks="integer",
        chunk_diversity="number",
        confidence_level="string",
        should_answer="boolean",
    )
    requires(ConfidenceMetrics, METRICS, *METRICS)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("average_similarity", -0.01),
        ("average_similarity", 1.01),
        ("average_similarity", 0.77),
        ("average_similarity", 0.95),
        ("min_similarity", -0.01),
        ("min_similarity", 0.88),
        ("max_similarity", 1.01),
        ("max_similarity", 0.86),
        ("num_chunks", -1),
        ("chunk_diversity", -0.01),
        ("chunk_diversity", 1.01),
        ("confidence_level", "medium"),
        ("confidence_level", "certain"),
        ("should_answer", False),
    ],
)
def test_metrics_refuse(field: str, value: Any) -> None:
    refuses(ConfidenceMetrics, METRICS, **{field: value})


@pytest.mark.parametrize(
    ("average", "chunks", "level"),
    [
        (0.85, 5, "high"),
        (0.85, 4, "medium"),
        (0.849, 5, "medium"),
        (0.75, 3, "medium"),
        (0.75, 2, "low"),
        (0.749, 9, "low"),
        (0.60, 2, "low"),
        (0.60, 1, "insufficient"),
        (0.599, 9, "insufficient"),
        (1.0, 1, "insufficient"),
        (0.0, 0, "insufficient"),
    ],
)
def test_levels(average: float, chunks: int, level: str) -> None:
    assert level_of(average, chunks) == level
    made = assess(passages(chunks, average))
    assert made.confidence_level == level
    assert made.should_answer == (level != "insufficient")


@given(st.lists(st.floats(0, 1), max_size=12))
def test_metrics_of_any_scores(scores: list[float]) -> None:
    found: list[Passage] = [passage(number, score=score) for number, score in enumerate(scores)]
    made = assess(found)
    assert made.num_chunks == len(scores)
    if scores:
        assert made.average_similarity == pytest.approx(sum(scores) / len(scores))
        assert (made.min_similarity, made.max_similarity) == (min(scores), max(scores))


def test_diversity() -> None:
    assert diversity([]) == diversity([[1.0, 0.0]]) == 0.0
    assert diversity([[1.0, 0.0], [2.0, 0.0]]) == pytest.approx(0.0)
    assert diversity([[1.0, 0.0], [0.0, 1.0]]) == pytest.approx(1.0)
    # cosines 0, √½ and √½
    assert diversity([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]) == pytest.approx(1 - 2 * 0.5**0.5 / 3)
