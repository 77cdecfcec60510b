"""What a book seems to say about questions that have nothing to do with it.

A manual finds nothing for "How do I remove a stain?". A book about everything finds something for
every question, so there as much evidence means less. How much is measured with the same everyday
questions for every book, without a label: no more than one in ten of them may seem covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources

from bythebook.models.book import Background, BookInfo
from bythebook.retrieval.calibration import THRESHOLD, Calibration, log_odds
from bythebook.retrieval.coverage import Features

QUESTIONS = "background_questions.txt"
# A book of fewer passages can't be about everything.
LEAST_PASSAGES = 30
# It is measured again once the number of passages has changed by this share.
CHANGED = 0.1
# The everyday question, as a share of all, that must not seem covered.
QUANTILE = 0.9
# The most that may be demanded above the threshold, in log-odds: an encyclopaedia does answer.
MOST = 1.0


@cache
def everyday_questions() -> tuple[str, ...]:
    text = (resources.files("bythebook.retrieval") / QUESTIONS).read_text("utf-8")
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def is_due(book: BookInfo) -> bool:
    """Whether the book has to be measured, or measured again."""
    if book.total_chunks < LEAST_PASSAGES:
        return False
    known = book.background
    return known is None or abs(book.total_chunks - known.passages) > CHANGED * known.passages


def background_of(passages: int, seen: Sequence[Features]) -> Background:
    rows = tuple((one.cosine, one.evidence, one.missing) for one in seen)
    return Background(passages=passages, evidence=rows)


@lru_cache(maxsize=100)  # of each book, for every question
def demanded(calibration: Calibration, background: Background | None) -> float:
    """How much more than usual the evidence must say in this book, in log-odds."""
    if background is None:
        return 0.0
    seen = sorted(calibration.log_odds(Features(*row)) for row in background.evidence)
    nearly_highest = seen[min(int(QUANTILE * len(seen)), len(seen) - 1)]
    return min(max(nearly_highest - log_odds(THRESHOLD), 0.0), MOST)
