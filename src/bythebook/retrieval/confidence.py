"""From scored passages to S4's metrics."""

from __future__ import annotations

from collections.abc import Sequence

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
    import numpy as np

    if len(vectors) < 2:
        return 0.0
    matrix = np.asarray(vectors, dtype=np.float64)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    pairs = np.triu_indices(len(matrix), k=1)
    mean = float((matrix @ matrix.T)[pairs].mean())
    return min(max(1.0 - mean, 0.0), 1.0)
