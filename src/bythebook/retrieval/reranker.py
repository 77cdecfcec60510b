"""The passages that search found, judged by the reader: which answer, how surely, and where."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from bythebook.models.chunk import DocumentMetadata
from bythebook.models.passage import Passage
from bythebook.reader.reader import Reader, Reading
from bythebook.retrieval.calibration import SUREST, THRESHOLD, log_odds, logistic

# Passages that are read: of more, the reader takes a wrong one more often than it finds a right
# one that search put so far down.
RERANKED = 5
# The probability of a right answer, in log-odds: so much of what the reader says of the best
# passage, so much of what search says of the question, and the rest. Fitted to questions whose
# facts are known or whose answers were read, judged book by book (benchmarks/answers.py --fit).
READER, SEARCH, BIAS = 0.78, 0.24, -0.26
# From this probability on the passage is shown as an answer.
ANSWERS = 0.15
# Search puts what answers first: a passage that was not read is taken to answer with so much of the
# probability of the one before it.
UNREAD = 0.5
# Pages that tell what changed: they say much that was so once. Asked about something else, the
# book's other pages come first unless they are that much less likely to answer.
RELEASE_NOTES_PENALTY = 0.3
RELEASE_NOTES = re.compile(
    r"(?:^|[/\s_-])(?:change-?logs?|changes|release-?notes?|releases?|history|what'?s-?new|news)"
    r"(?:$|[/\s._-])",
    re.IGNORECASE,
)
ABOUT_CHANGES = re.compile(
    r"\b(?:changed|changelog|what(?:['’]s| is) new|new in|releases?|released|deprecated|since when|"
    r"(?:since|in|which) version|upgrad\w+|migrat\w+)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reranked:
    """Passages, the one that answers best first; `confidence` is the probability that it does.
    `readings` are by the passage's id; one that was not read has none."""

    passages: tuple[Passage, ...]
    confidence: float
    readings: Mapping[str, Reading] = field(default_factory=dict)

    @property
    def answers(self) -> bool:
        return self.confidence >= ANSWERS


async def rerank(
    reader: Reader,
    question: str,
    passages: Sequence[Passage],
    coverage: float,
    most: int = RERANKED,
) -> Reranked:
    """Reads the first passages in their order until one surely answers, release notes last.
    `coverage` is how sure search is that the book answers: the reader looks closer, but at few
    passages."""
    if not passages:
        return Reranked((), 0.0)
    notes: set[str] = set()
    if not ABOUT_CHANGES.search(question):
        notes = {one.id for one in passages[:most] if is_release_notes(one.metadata)}
        first = sorted(passages[:most], key=lambda one: one.id in notes)
        passages = [*first, *passages[most:]]
    readings = await reader.read_all(question, passages[:most])
    readings.sort(
        key=lambda one: RELEASE_NOTES_PENALTY * (passages[one.number].id in notes) - one.answers
    )
    read = [reading.number for reading in readings]
    order = [*read, *(n for n in range(len(passages)) if n not in read)]
    likely = [_probability(reading.answers, coverage) for reading in readings]
    scores = scores_of(likely, len(order))
    scored = [
        replace(passages[number], score=score) for number, score in zip(order, scores, strict=True)
    ]
    by_id = {passages[reading.number].id: reading for reading in readings}
    return Reranked(tuple(scored), likely[0], by_id)


def is_release_notes(place: DocumentMetadata) -> bool:
    return bool(RELEASE_NOTES.search(f"{place.source_file} {place.title}"))


def _probability(answers: float, coverage: float) -> float:
    sure = READER * log_odds(within(answers)) + SEARCH * log_odds(within(coverage))
    return logistic(sure + BIAS)


def scores_of(likely: Sequence[float], count: int) -> list[float]:
    """Scores of `count` passages from the probabilities that those that were read answer, in their
    order. Where the first is an answer, .7 plus .3 of each one's own probability; where it is none,
    below .7 in the same order. None has more than the one before it."""
    unread = (likely[-1] * UNREAD**n for n in range(1, count - len(likely) + 1))
    falling = accumulate([*likely, *unread], min)
    if likely[0] >= ANSWERS:
        return [THRESHOLD + (1 - THRESHOLD) * each for each in falling]
    return [THRESHOLD / ANSWERS * each for each in falling]


def within(probability: float) -> float:
    return min(max(probability, 1 - SUREST), SUREST)
