"""S4, the agent's API: every field, bound and rule of what is retrieved and how sure it is."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.models.confidence import ConfidenceMetrics, level_of
from bythebook.models.passage import Passage
from bythebook.models.retrieved import ChunkMetadata, RetrievalResult
from bythebook.retrieval.confidence import assess, diversity
from seeds.seed_samples import (
    has_fields,
    passage,
    passages,
    refuses,
    requires,
)

# RetrievalResult

DIMENSION = 4


def result(**changes: Any) -> dict[str, Any]:
    made = RetrievalResult.of(passages(3, 0.8), [0.5] * DIMENSION).model_dump()
    return {**made, **changes}


def test_result_fields() -> None:
    has_fields(
        RetrievalResult,
        chunks="array",
        scores="array",
        metadata="array",
        average_score="number",
        has_sufficient_context="boolean",
        query_embedding="array",
    )
    requires(RetrievalResult, result(), *(result().keys() - {"dimension"}))


def test_result_of_passages() -> None:
    found = passages(3, 0.8)
    made = RetrievalResult.of(found, [0.5] * DIMENSION)
    assert made.chunks == [each.text for each in found]
    assert made.scores == [0.8] * 3 and made.average_score == pytest.approx(0.8)
    assert made.has_sufficient_context and made.query_embedding == [0.5] * DIMENSION
    assert made.metadata[1] == ChunkMetadata(
        chapter="Chapter 3: Communication",
        section="3.2 What a node is",
        url="https://b.example/nodes#s1",
        chunk_index=1,
        content_hash=hashlib.sha256(found[1].text.encode()).hexdigest(),
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": [0.8, 0.8]},
        {"chunks": ["a", "b"]},
        {"metadata": []},
        {"average_score": 0.79},
        {"has_sufficient_context": False},
        {"query_embedding": [0.5] * (DIMENSION + 1)},
        {"dimension": 1536},
    ],
)
def test_result_adds_up(changes: dict[str, Any]) -> None:
    refuses(RetrievalResult, result(), field="", **changes)


@pytest.mark.parametrize("score", [-0.01, 1.01])
def test_result_scores_are_between_0_and_1(score: float) -> None:
    refuses(RetrievalResult, result(), scores=[score, 0.8, 0.8])
    refuses(RetrievalResult, result(), average_score=score)


def test_result_has_the_dimension_of_openai_unless_told() -> None:
    without = {name: value for name, value in result().items() if name != "dimension"}
    made = RetrievalResult.model_validate({**without, "query_embedding": [0.1] * 1536})
    assert made.dimension == 1536
    for wrong in (1535, 1537):
        refuses(RetrievalResult, made.model_dump(), query_embedding=[0.1] * wrong)


@pytest.mark.parametrize(
    ("count", "score", "sufficient"),
    [
        (0, 0.0, False),
        (2, 0.99, False),
        (3, 0.75, True),
        (3, 0.74, False),
        (10, 0.75, True),
    ],
)
def test_result_has_sufficient_context(count: int, score: float, sufficient: bool) -> None:
    """The rule; S4's own example of two chunks breaks it."""
    made = RetrievalResult.of(passages(count, score), [0.5] * DIMENSION)
    assert made.has_sufficient_context == sufficient
    refuses(RetrievalResult, made.model_dump(), has_sufficient_context=not sufficient, field="")


def test_result_has_at_most_ten_chunks() -> None:
    made = RetrievalResult.of(passages(12), [0.5])
    assert len(made.chunks) == 10
    eleven = {name: [*made.model_dump()[name], made.model_dump()[name][0]] for name in LISTS}
    refuses(RetrievalResult, made.model_dump(), field="chunks", **eleven)


LISTS = ("chunks", "scores", "metadata")


def test_result_keeps_the_best_of_equal_texts() -> None:
    found = [passage(0, score=0.6), passage(1, score=0.9), passage(2, "Another text.", 0.7)]
    made = RetrievalResult.of(found, [0.5])
    assert made.scores == [0.9, 0.7]
    assert [place.chunk_index for place in made.metadata] == [1, 2]


def test_chunk_metadata_fields_and_bounds() -> None:
    has_fields(
        ChunkMetadata,
        chapter="string",
        section="string",
        url="string",
        chunk_index="integer",
        content_hash="string",
    )
    valid = ChunkMetadata.of(passage()).model_dump()
    requires(ChunkMetadata, valid, *valid)
    refuses(ChunkMetadata, valid, content_hash="a1b2c3")
    refuses(ChunkMetadata, valid, chunk_index=-1)


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
