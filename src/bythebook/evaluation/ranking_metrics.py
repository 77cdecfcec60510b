"""Figures from ranks, decisions and words; each is 1 where it could not be better, unless said."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2

BINS = 10
# A sentence shorter than this must be found whole: its words stand in too many others.
LEAST_PART = 30
MARKERS = re.compile(r"(?<!\s)\s*+(?:\[\d{1,3}\])+")
WORD = re.compile(r"\w+")


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that so large a share does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


def ndcg(ranked: Sequence[str], gold: Mapping[str, int], depth: int = 10) -> float:
    """Gain of the gold units among the first, discounted by rank, of the most there could be."""
    found = sum(gold.get(unit, 0) / log2(rank + 2) for rank, unit in enumerate(ranked[:depth]))
    grades = sorted(gold.values(), reverse=True)[:depth]
    return found / sum(grade / log2(rank + 2) for rank, grade in enumerate(grades))


def recall(ranked: Sequence[str], gold: Mapping[str, int], depth: int = 5) -> float:
    """The share of the gold units among the first, of as many as there is room for."""
    return sum(unit in gold for unit in ranked[:depth]) / min(len(gold), depth)


def hit(ranked: Sequence[str], gold: Mapping[str, int], depth: int = 5) -> float:
    """Whether there is a gold unit among the first."""
    return float(any(unit in gold for unit in ranked[:depth]))


def reciprocal_rank(ranked: Sequence[str], gold: Mapping[str, int], depth: int = 10) -> float:
    ranks = (rank for rank, unit in enumerate(ranked[:depth], 1) if unit in gold)
    return 1 / next(ranks, float("inf"))


def auroc(right: Sequence[float], wrong: Sequence[float]) -> float | None:
    """How often a right one scores above a wrong one; ties count half."""
    if not right or not wrong:
        return None
    below = sorted(wrong)
    pairs = sum(bisect_left(below, value) + bisect_right(below, value) for value in right)
    return pairs / (2 * len(right) * len(wrong))


def roc_curve(right: Sequence[float], wrong: Sequence[float]) -> list[tuple[float, float]]:
    """(wrong ones let through, right ones let through) for every threshold, strictest first."""
    thresholds = sorted({*right, *wrong}, reverse=True)
    ups, downs = sorted(right), sorted(wrong)

    def above(ordered: Sequence[float], threshold: float) -> float:
        return 1 - bisect_left(ordered, threshold) / len(ordered)

    return [(0.0, 0.0), *((above(downs, t), above(ups, t)) for t in thresholds)]


def best_split(right: Sequence[float], wrong: Sequence[float]) -> tuple[float, float] | None:
    """The greatest balanced accuracy that any threshold reaches, and that threshold."""
    if not right or not wrong:
        return None
    thresholds = sorted({*right, *wrong}, reverse=True)
    curve = roc_curve(right, wrong)[1:]
    reached = [
        ((hit + 1 - slip) / 2, threshold)
        for (slip, hit), threshold in zip(curve, thresholds, strict=True)
    ]
    return max(reached, key=lambda pair: pair[0])


@dataclass(frozen=True)
class Bin:
    """Answers that were given with about the same confidence."""

    low: float
    high: float
    count: int
    said: float
    right: float


def bins_of(said: Sequence[float], right: Sequence[bool], bins: int = BINS) -> list[Bin]:
    """Equal steps of confidence; those in which nothing was said are left out."""
    members: dict[int, list[int]] = {}
    for index, value in enumerate(said):
        members.setdefault(min(int(value * bins), bins - 1), []).append(index)
    return [
        Bin(
            number / bins,
            (number + 1) / bins,
            len(inside),
            sum(said[i] for i in inside) / len(inside),
            sum(right[i] for i in inside) / len(inside),
        )
        for number, inside in sorted(members.items())
    ]


def expected_calibration_error(said: Sequence[float], right: Sequence[bool]) -> float | None:
    """The mean distance, over bins, of what was said from how often it was right; 0 is best."""
    if not said:
        return None
    distances = (bin.count * abs(bin.said - bin.right) for bin in bins_of(said, right))
    return sum(distances) / len(said)


def brier(said: Sequence[float], right: Sequence[bool]) -> float | None:
    """The mean squared distance of what was said from what was so; 0 is best."""
    return mean([(value - truth) ** 2 for value, truth in zip(said, right, strict=True)])


def plain(text: str) -> str:
    """Its words alone, without markers, case and punctuation."""
    return " ".join(WORD.findall(MARKERS.sub(" ", text).lower()))


def token_f1(answer: str, golds: Sequence[str]) -> float:
    """Agreement in words with the gold answer that agrees most."""
    said = Counter(plain(answer).split())
    return max((_f1_of_words(said, Counter(plain(gold).split())) for gold in golds), default=0.0)


def _f1_of_words(said: Counter[str], gold: Counter[str]) -> float:
    common = (said & gold).total()
    return 2 * common / (said.total() + gold.total()) if common else 0.0


def sentence_f1(said: Sequence[str], annotators: Sequence[Sequence[str]]) -> float:
    """Agreement in whole sentences with the annotator who agrees most."""
    return max((_f1_of_sentences(said, gold) for gold in annotators if gold), default=0.0)


def _f1_of_sentences(said: Sequence[str], gold: Sequence[str]) -> float:
    ours, theirs = [plain(one) for one in said], [plain(one) for one in gold]
    if not ours:
        return 0.0
    precision = sum(any(_same(a, b) for b in theirs) for a in ours) / len(ours)
    found = sum(any(_same(a, b) for a in ours) for b in theirs) / len(theirs)
    return 2 * precision * found / (precision + found) if precision + found else 0.0


def _same(one: str, other: str) -> bool:
    """Equal, or one a part of the other: people cut sentences in different places."""
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) > LEAST_PART and short in long)
