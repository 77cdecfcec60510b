"""One number from two: how near a passage is in meaning, and how much of the question's words it
has.

The share of words is measured against what a passage could reach at most, not against the other
results, so the number means the same for every question and can be calibrated.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

from bythebook.index.sparse import K1
from bythebook.retrieval.calibration import Calibration


class Candidate(NamedTuple):
    """A passage that one of the halves brought, with what both say, and the evidence from it."""

    id: str
    cosine: float
    bm25: float
    evidence: float = 0.0


def inverse_frequency(total: int, containing: int) -> float:
    """Qdrant's own weight of a word that so many of the passages have."""
    return log((total - containing + 0.5) / (containing + 0.5) + 1)


def bm25_ceiling(inverse_frequencies: Sequence[float]) -> float:
    """The BM25 score that no passage exceeds for words of these weights."""
    return (K1 + 1) * sum(inverse_frequencies)


def fuse(
    candidates: Sequence[Candidate], ceiling: float, calibration: Calibration
) -> list[Candidate]:
    """Candidates with their evidence, best first."""

    def weigh(candidate: Candidate) -> Candidate:
        words = candidate.bm25 / ceiling if ceiling > 0 else candidate.cosine
        evidence = calibration.evidence(candidate.cosine, words)
        return Candidate(candidate.id, candidate.cosine, candidate.bm25, evidence)

    weighed = [weigh(candidate) for candidate in candidates]
    return sorted(weighed, key=lambda candidate: (-candidate.evidence, candidate.id))
