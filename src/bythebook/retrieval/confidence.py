"""From scored passages to S4's metrics."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

from bythebook.models.confidence import ConfidenceMetrics, level_of
from bythebook.models.passage import Passage


def assess(passages: Sequence[Passage]) -> ConfidenceMetrics:
    """How sure the book can answer from these passages."""
    scores = [passage.score for passage in passages]
    average = sum(scores) / len(scores) if scores else 0.0
    level = level_of(average, len(scores))
    return ConfidenceMetrics(
        average_similarity=average,
        min_similarity=min(scores, default=0.0),
        max_similarity=max(scores, default=0.0),
        num_chunks=len(scores),
        chunk_diversity=diversity([p.vector for p in passages if p.vector is not None]),
        confidence_level=level,
        should_answer=level != "insufficient",
    )


def diversity(vectors: Sequence[Sequence[float]]) -> float:
    """1 − the mean cosine of every pair; 0 where there is no pair."""
    count = len(vectors)
    if count < 2:
        return 0.0
    units = [_unit(vector) for vector in vectors]
    # The square of their sum holds every pair twice, and each of them with itself once.
    length = hypot(*map(sum, zip(*units, strict=True)))
    mean = (length * length - count) / (count * (count - 1))
    return min(max(1.0 - mean, 0.0), 1.0)


def _unit(vector: Sequence[float]) -> list[float]:
    length = hypot(*vector)
    return [number / length for number in vector]
