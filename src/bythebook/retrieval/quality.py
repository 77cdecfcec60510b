"""How well coverage tells the questions a book answers from those it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bythebook.models.confidence import level_of
from bythebook.retrieval.calibration import THRESHOLD, Calibration, anchor_of
from bythebook.retrieval.fitting import Example, Kind

BINS = 10


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
    """What coverages are worth, shown as the calibration does; S4's rules decide at their default
    threshold."""
    asked = list(zip(examples, coverages, strict=True))
    of: dict[Kind, list[float]] = {"covered": [], "near": [], "off-topic": []}
    decided: dict[Kind, list[bool]] = {"covered": [], "near": [], "off-topic": []}
    means, shown = [], []
    for example, coverage in asked:
        strengths = example.evidence.strengths
        given = calibration.scores(coverage, strengths, anchor_of(strengths))
        confidence = confidence_of(given)
        of[example.kind].append(coverage)
        decided[example.kind].append(confidence is not None)
        means.append(sum(given) / len(given) if given else 0.0)
        shown.append(confidence)
    answered = _share(decided["covered"])
    refusals = [1 - _mean(decided[kind]) for kind in ("near", "off-topic") if decided[kind]]
    right = [example.right for example in examples]
    answers = [index for index, confidence in enumerate(shown) if confidence is not None]
    return Quality(
        covered=len(of["covered"]),
        near=len(of["near"]),
        off_topic=len(of["off-topic"]),
        auroc_near=auroc(of["covered"], of["near"]),
        auroc_off_topic=auroc(of["covered"], of["off-topic"]),
        answered=answered,
        refused_near=_complement(_share(decided["near"])),
        refused_off_topic=_complement(_share(decided["off-topic"])),
        balanced_accuracy=(
            (answered + sum(refusals) / len(refusals)) / 2
            if answered is not None and refusals
            else None
        ),
        calibration_error=calibration_error(means, right, weights),
        shown_error=calibration_error(
            [shown[i] or 0.0 for i in answers],
            [right[i] for i in answers],
            [weights[i] for i in answers],
        ),
    )


def confidence_of(given: Sequence[float]) -> float | None:
    """S4's mean of the scores that pass the threshold; None where its rules refuse."""
    passing = [score for score in given if score >= THRESHOLD]
    if not passing:
        return None
    mean = sum(passing) / len(passing)
    return None if level_of(mean, len(passing)) == "insufficient" else mean


def auroc(right: Sequence[float], wrong: Sequence[float]) -> float | None:
    """How often a right one stands above a wrong one; ties count half."""
    if not right or not wrong:
        return None
    pairs = sum((a > b) + 0.5 * (a == b) for a in right for b in wrong)
    return pairs / (len(right) * len(wrong))


def calibration_error(
    said: Sequence[float], right: Sequence[bool], weights: Sequence[float]
) -> float:
    """The mean distance, over bins of what was said, between it and how often it was right."""
    total = sum(weights)
    if not total:
        return 0.0
    error = 0.0
    for number in range(BINS):
        inside = [i for i, value in enumerate(said) if min(int(value * BINS), BINS - 1) == number]
        error += abs(sum(weights[i] * (said[i] - right[i]) for i in inside))
    return error / total


def _mean(values: Sequence[bool]) -> float:
    return sum(values) / len(values)


def _share(values: Sequence[bool]) -> float | None:
    return _mean(values) if values else None


def _complement(share: float | None) -> float | None:
    return None if share is None else 1 - share
