"""Figures from ranks, decisions and words; each is 1 where it could not be better, unless said."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2

from bythebook.models.passage import level_of
from bythebook.retrieval.calibration import THRESHOLD, Calibration
from bythebook.retrieval.fitting import Example, Kind

BINS = 10
DIGITS = 4
# A sentence shorter than this must be found whole: its words stand in too many others.
LEAST_PART = 30
MARKERS = re.compile(r"(?<!\s)\s*+(?:\[\d{1,3}\])+")
WORD = re.compile(r"\w+")


def rounded(value: float | None, digits: int = DIGITS) -> float | None:
    return None if value is None else round(value, digits)


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def rounded_mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known."""
    return rounded(mean([value for value in values if value is not None]))


def balanced_accuracy(let_through: float | None, held_back: float | None) -> float | None:
    """Of what should and what should not be let through, if there is both."""
    if let_through is None or held_back is None:
        return None
    return (let_through + held_back) / 2


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


def bins_of(said: Sequence[float], right: Sequence[bool]) -> list[Bin]:
    """Equal steps of confidence; those in which nothing was said are left out."""
    return [
        Bin(
            number / BINS,
            (number + 1) / BINS,
            len(inside),
            sum(said[i] for i in inside) / len(inside),
            sum(right[i] for i in inside) / len(inside),
        )
        for number, inside in sorted(_members(said).items())
    ]


def _members(said: Sequence[float]) -> dict[int, list[int]]:
    """Which of them fall into each bin."""
    members: dict[int, list[int]] = {}
    for index, value in enumerate(said):
        members.setdefault(min(int(value * BINS), BINS - 1), []).append(index)
    return members


def calibration_error(
    said: Sequence[float], right: Sequence[bool], weights: Sequence[float] | None = None
) -> float | None:
    """The mean distance, over bins, of what was said from how often it was right; 0 is best."""
    counts = weights or [1.0] * len(said)
    distances = (
        abs(sum(counts[i] * (said[i] - right[i]) for i in inside))
        for inside in _members(said).values()
    )
    return sum(distances) / sum(counts) if said else None


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


@dataclass(frozen=True)
class Quality:
    """Shares and areas from 0 to 1, None where no question can tell. `calibration_error` is the
    expected error in ten bins of the mean score, `shown_error` that of the confidence of answers,
    both as if covered questions and others were asked equally often; right is a covered question
    whose best passage answers it."""

    covered: int
    near: int
    off_topic: int
    auroc_near: float | None
    auroc_off_topic: float | None
    answered: float | None
    refused_near: float | None
    refused_off_topic: float | None
    balanced_accuracy: float | None
    calibration_error: float
    shown_error: float


def measure(
    examples: Sequence[Example],
    coverages: Sequence[float],
    weights: Sequence[float],
    calibration: Calibration,
) -> Quality:
    """What coverages are worth, shown as the calibration does; the levels decide at the default
    threshold."""
    of: dict[Kind, list[float]] = {"covered": [], "near": [], "off-topic": []}
    decided: dict[Kind, list[bool]] = {"covered": [], "near": [], "off-topic": []}
    means, shown = [], []
    for example, coverage in zip(examples, coverages, strict=True):
        given = calibration.scores(coverage, example.evidence.strengths)
        confidence = confidence_of(given)
        of[example.kind].append(coverage)
        decided[example.kind].append(confidence is not None)
        means.append(mean(given) or 0.0)
        shown.append(confidence)
    answered = mean(decided["covered"])
    near, off_topic = (
        mean([not passed for passed in decided[kind]]) for kind in ("near", "off-topic")
    )
    refused = mean([share for share in (near, off_topic) if share is not None])
    right = [example.right for example in examples]
    answers = [index for index, confidence in enumerate(shown) if confidence is not None]
    return Quality(
        covered=len(of["covered"]),
        near=len(of["near"]),
        off_topic=len(of["off-topic"]),
        auroc_near=auroc(of["covered"], of["near"]),
        auroc_off_topic=auroc(of["covered"], of["off-topic"]),
        answered=answered,
        refused_near=near,
        refused_off_topic=off_topic,
        balanced_accuracy=balanced_accuracy(answered, refused),
        calibration_error=calibration_error(means, right, weights) or 0.0,
        shown_error=calibration_error(
            [shown[i] or 0.0 for i in answers],
            [right[i] for i in answers],
            [weights[i] for i in answers],
        )
        or 0.0,
    )


def confidence_of(given: Sequence[float]) -> float | None:
    """The mean of the scores that pass the threshold; None where the levels refuse."""
    passing = [score for score in given if score >= THRESHOLD]
    if not passing:
        return None
    average = sum(passing) / len(passing)
    return None if level_of(average, len(passing)) == "insufficient" else average
