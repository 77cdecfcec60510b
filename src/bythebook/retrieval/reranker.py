"""The passages that search found, judged by the reader: which answer, how surely, and where."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bythebook.models.chunk import DocumentMetadata
from bythebook.models.passage import Passage
from bythebook.reader.reader import Reader, Reading
from bythebook.retrieval.calibration import SUREST, THRESHOLD, log_odds, logistic

# Passages that are read: of more, the reader takes a wrong one more often than it finds a right
# one that search put so far down.
READ = 5
# The probability of a right answer, in log-odds: so much of what the reader says of the best
# passage, so much of what search says of the question, and the rest. Fitted to questions whose
# facts are known or whose answers were read, judged book by book (benchmarks/answers.py --fit).
READER, SEARCH, BIAS = 0.78, 0.24, -0.26
# From this probability on the passage is shown as an answer. Below S4's threshold the scores say
# that nothing was found, so what is shown scores at least that much.
ANSWERS = 0.15
# The best passages score a little above the confidence, in their order.
SPREAD = 0.05
# Pages that tell what changed: they say much that was so once. Asked about something else, the
# book's other pages come first unless they are that much less likely to answer.
CHANGES = 0.3
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
    reader: Reader, question: str, passages: Sequence[Passage], coverage: float, most: int = READ
) -> Reranked:
    """Reads the first passages in their order until one surely answers, release notes last.
    `coverage` is how sure search is that the book answers: the reader looks closer, but at few
    passages."""
    if not passages:
        return Reranked((), 0.0)
    notes: set[str] = set()
    if not ABOUT_CHANGES.search(question):
        notes = {one.id for one in passages[:most] if tells_changes(one.metadata)}
        first = sorted(passages[:most], key=lambda one: one.id in notes)
        passages = [*first, *passages[most:]]
    readings = await reader.read_all(question, passages[:most])
    readings.sort(key=lambda one: CHANGES * (passages[one.number].id in notes) - one.answers)
    read = [reading.number for reading in readings]
    order = [*read, *(n for n in range(len(passages)) if n not in read)]
    sure = READER * log_odds(within(readings[0].answers)) + SEARCH * log_odds(within(coverage))
    confidence = logistic(sure + BIAS)
    scores = _scores(confidence, len(order))
    scored = [
        replace(passages[number], score=score) for number, score in zip(order, scores, strict=True)
    ]
    by_id = {passages[reading.number].id: reading for reading in readings}
    return Reranked(tuple(scored), confidence, by_id)


def tells_changes(place: DocumentMetadata) -> bool:
    return bool(RELEASE_NOTES.search(f"{place.source_file} {place.title}"))


def _scores(confidence: float, count: int) -> list[float]:
    """Scores in their order, of which the mean is about the confidence; of an answer none is below
    S4's threshold, and of what is none all are."""
    if confidence >= ANSWERS:
        least = max(confidence, THRESHOLD)
        return [least + (1 - least) * SPREAD * (count - n) / count for n in range(count)]
    return [confidence * THRESHOLD / ANSWERS * (1 - SPREAD * n / count) for n in range(count)]


def within(probability: float) -> float:
    return min(max(probability, 1 - SUREST), SUREST)
