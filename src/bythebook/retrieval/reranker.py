"""The passages that search found, judged by the reader: which answer, how surely, and where."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from bythebook.language.segmentation import pieces_of
from bythebook.models.chunk import count_words
from bythebook.models.passage import Passage
from bythebook.reader.reader import Reader, Reading
from bythebook.retrieval.calibration import SPREAD, SUREST, THRESHOLD, log_odds, logistic
from bythebook.retrieval.query import defining, term_to_define

# Passages that are read: of more, the reader takes a wrong one more often than it finds a right
# one that search put so far down. They are the first of so many that search finds, without those
# that hardly ever answer.
RERANKED, CONSIDERED = 5, 16
# The probability of a right answer, in log-odds: so much of what the reader says of the best
# passage, so much of what search says of the question, and the rest. Fitted to questions whose
# facts are known or whose answers were read, judged book by book (benchmarks/answers.py --fit).
READER, SEARCH, BIAS = 0.78, 0.24, -0.26
# What a passage that defines the term asked for has ahead of others, in log-odds.
DEFINES = 1.0
# From this probability on the passage is shown as an answer.
ANSWERS = 0.15
# Search puts what answers first: a passage that was not read is taken to answer with so much of the
# probability of the one before it.
UNREAD = 0.5
# Pages that tell what changed say much that was so once, and those for contributors tell of the
# project. They are read only where fewer others are found, or when they are asked about.
# A book about history has a folder of that name, so such words count only for a page at the top.
RELEASE_NOTES = re.compile(
    r"(?:^|[/\s_-])(?:change-?logs?|release-?notes?|what'?s-?new)(?:$|[/\s._-])|"
    r"^(?:changes|history|news|releases?)\.\w+\s|(?:^|/)releases?[\s_-]?v?\d",
    re.IGNORECASE,
)
ABOUT_CHANGES = re.compile(
    r"\b(?:changed|changelog|what(?:['’]s| is) new|new in|releases?|released|deprecated|since when|"
    r"(?:since|in|which) version|upgrad\w+|migrat\w+)\b",
    re.IGNORECASE,
)
FOR_CONTRIBUTORS = re.compile(
    r"(?:^|[/\s_-])(?:contribut(?:e|ing|ors?)|code-?of-?conduct)(?:$|[/\s._-])",
    re.IGNORECASE,
)
ABOUT_CONTRIBUTING = re.compile(
    r"\b(?:contribut\w*|pull requests?|patch(?:es)?|maintainers?|code of conduct|"
    r"(?:develop|hack|work) on)\b",
    re.IGNORECASE,
)
# A passage of fewer words, its headings aside, only names what stands elsewhere.
FEWEST_WORDS = 5


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
    strengths: Sequence[float],
    coverage: float,
    most: int = RERANKED,
) -> Reranked:
    """Reads the first passages that may answer, in their order, until one surely does. `strengths`
    are search's evidence for each; `coverage` is how sure search is that the book answers: the
    reader looks closer, but at few passages."""
    if not passages:
        return Reranked((), 0.0)
    last = [is_secondary(one, question) for one in passages]
    read_in = sorted(range(len(passages)), key=lambda number: last[number])
    readings = await reader.read_all(question, [passages[number] for number in read_in[:most]])
    by_number = {read_in[reading.number]: reading for reading in readings}
    best = max(strengths[number] for number in by_number)

    term = term_to_define(question)
    defines = defining(term).search if term else None

    def belief(number: int) -> float:
        """The reader tells what answers from what does not; of two that do, it hardly tells the
        better one, and search does."""
        ahead = SPREAD * (strengths[number] - best)
        ahead += DEFINES * bool(defines and defines(passages[number].text))
        return log_odds(within(by_number[number].answers)) + ahead

    order = sorted(by_number, key=belief, reverse=True)
    likely = [_probability(by_number[number].answers, coverage) for number in order]
    order += [number for number in read_in if number not in by_number]
    scores = scores_of(likely, len(order))
    scored = [
        replace(passages[number], score=score) for number, score in zip(order, scores, strict=True)
    ]
    by_id = {passages[number].id: reading for number, reading in by_number.items()}
    return Reranked(tuple(scored), likely[0], by_id)


def is_secondary(passage: Passage, question: str) -> bool:
    """Whether it is read after all others."""
    place = passage.metadata
    named = f"{place.source_file} {place.title}"
    if RELEASE_NOTES.search(named) and not ABOUT_CHANGES.search(question):
        return True
    if FOR_CONTRIBUTORS.search(named) and not ABOUT_CONTRIBUTING.search(question):
        return True
    bodies = (
        passage.text[one.start : one.end]
        for one in pieces_of(passage.text)
        if one.kind != "heading"
    )
    return sum(map(count_words, bodies)) < FEWEST_WORDS


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
