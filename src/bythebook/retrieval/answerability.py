"""What tells whether a book answers a question at all, before any passage is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import sqrt

from bythebook.retrieval.query import Name, missing_names, names_in, weight_as_written

# Passages that are looked at, however many are asked for: coverage must not depend on the limit.
LOOKED_AT = 5
# Of them, those in which the question's names must stand.
NAMED_IN = 3
# A message of many more words mentions things by the way: a missing one counts less.
PLAIN_QUESTION = 12
# The more words a question has, the smaller the share of them that any passage can have.
FEW_WORDS, MANY_WORDS = 6, 24


@dataclass(frozen=True)
class Features:
    """`cosine` and `evidence` of the best passage, the latter made comparable between short and
    long questions; `missing` is the weight of the heaviest thing that the question names and the
    best passages don't."""

    cosine: float
    evidence: float
    missing: float


FEATURES = tuple(field.name for field in fields(Features))
# Which way each must point: a fit that says otherwise has learnt an accident.
SIGNS = {"cosine": 1, "evidence": 1, "missing": -1}


@dataclass(frozen=True)
class RankedPassage:
    """What is looked at of a passage."""

    cosine: float
    evidence: float
    text: str


@dataclass(frozen=True)
class Answerability:
    """The evidence for a whole question: its features, the evidence of each passage looked at
    (best first), and the names that were not found."""

    features: Features
    strengths: tuple[float, ...]
    missing: tuple[str, ...] = ()


def answerability_of(
    question: str, language: str, weights: Mapping[int, float], ranked: Sequence[RankedPassage]
) -> Answerability:
    """Evidence from the best passages. `weights` are those of the question's terms, from 0
    (everywhere in the book) to 1 (nowhere)."""

    def weight_of(word: str) -> float:
        return weight_as_written(word, language, weights)

    best = ranked[:LOOKED_AT]
    missing: list[Name] = []
    names = names_in(question, language, weight_of)
    if names:
        texts = "\n".join(passage.text for passage in best[:NAMED_IN])
        missing = missing_names(names, texts, language)
    heaviest = missing[0].weight if missing else 0.0
    length = sqrt(min(max(len(weights), FEW_WORDS), MANY_WORDS) / FEW_WORDS)
    features = Features(
        cosine=best[0].cosine if best else 0.0,
        evidence=best[0].evidence * length if best else 0.0,
        missing=heaviest * min(1.0, PLAIN_QUESTION / max(len(weights), 1)),
    )
    strengths = tuple(passage.evidence for passage in best)
    return Answerability(features, strengths, tuple(name.word for name in missing))
