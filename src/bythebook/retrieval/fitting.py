"""Fits a calibration to labelled questions: logistic regression, held out by book."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Literal

from bythebook.errors import InputError
from bythebook.models.chunk import Background
from bythebook.retrieval.answerability import FEATURES, SIGNS, Answerability
from bythebook.retrieval.calibration import THRESHOLD, Calibration, log_odds, raised_threshold

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Kind = Literal["covered", "near", "off-topic"]
FOLDS = 5
# From so many books on, each fold is a book: what is measured then is an unseen book.
LEAST_BOOKS = 3
LEAST_EXAMPLES = 10
RIDGE = 1.0
STEPS = 50
# How far the threshold then leans towards answering, in log-odds. What is let through is judged
# once more by whoever writes the answer and by the verification; a refusal is final.
TOWARDS_ANSWERING = 0.2
# The farthest that the bias may be moved to where both kinds of error are equally frequent.
LONGEST_SHIFT = 1.5
# What the slope is chosen from.
SLOPES = tuple(step / 20 for step in range(1, 21))


@dataclass(frozen=True)
class Example:
    """A question asked of a book; an off-topic one was made for another book. `found` says whether
    the best passage is one that answers, None where only the question was labelled."""

    book: str
    question: str
    kind: Kind
    evidence: Answerability
    found: bool | None = None
    background: Background | None = None

    @property
    def covered(self) -> bool:
        return self.kind == "covered"

    @property
    def right(self) -> bool:
        """Whether an answer from the best passage would be right, as far as is known."""
        return self.covered and self.found is not False

    def coverage(self, calibration: Calibration) -> float:
        more = raised_threshold(calibration, self.background)
        return calibration.coverage(self.evidence.features, more)


@dataclass(frozen=True)
class Fit:
    """A calibration, and for each example the coverage from a fit that had not seen it."""

    calibration: Calibration
    held_out: list[float]


def fit(
    examples: Sequence[Example],
    before: Calibration,
    fitted_on: str,
    book_weights: Mapping[str, float] | None = None,
    balanced_on: Collection[str] = (),
) -> Fit:
    """A calibration for the embedder of `before`. Its bias puts the threshold where both errors,
    refusing what is covered and answering what is not, are equally frequent on held-out folds
    (those of the books of `balanced_on`, or of all), and a little towards answering. Its slope is
    the one by which the confidence of answers to covered and nearly covered questions is nearest to
    how often they are right."""
    for kind, count in (
        ("covered", sum(example.covered for example in examples)),
        ("uncovered", sum(not example.covered for example in examples)),
    ):
        if count < LEAST_EXAMPLES:
            raise InputError(
                f"There are {count} {kind} questions; a fit takes at least {LEAST_EXAMPLES}.",
                action="Add questions the book answers and questions it does not.",
            )
    weights = example_weights(examples, book_weights or {})
    models = _held_out(examples, weights, before)
    judges = [not balanced_on or example.book in balanced_on for example in examples]
    unseen = [
        model.coverage(e.evidence.features) for model, e in zip(models, examples, strict=True)
    ]
    point = equal_errors(
        list(compress(examples, judges)),
        list(compress(unseen, judges)),
        list(compress(weights, judges)),
    )
    shift = log_odds(THRESHOLD) - log_odds(point)
    shift = min(max(shift, -LONGEST_SHIFT), LONGEST_SHIFT) + TOWARDS_ANSWERING
    held_out = [
        example.coverage(replace(model, bias=model.bias + shift))
        for model, example in zip(models, examples, strict=True)
    ]
    whole = _fit_once(examples, weights, before)
    found = replace(
        whole,
        bias=round(whole.bias + shift, 3),
        weights={name: round(weight, 3) for name, weight in whole.weights.items()},
        fitted_on=fitted_on,
        # Of what is said every book counts alike, whatever it counts for the decision.
        slope=best_slope(examples, held_out, example_weights(examples, {}), before),
    )
    return Fit(found, held_out)


def best_slope(
    examples: Sequence[Example],
    coverages: Sequence[float],
    weights: Sequence[float],
    calibration: Calibration,
) -> float:
    """The slope with the least mean square between what is shown and what is right."""
    answered = [
        (coverage, example.right, weight)
        for example, coverage, weight in zip(examples, coverages, weights, strict=True)
        if coverage >= THRESHOLD and example.kind != "off-topic"
    ]

    def error(slope: float) -> float:
        said = replace(calibration, slope=slope).shown
        return sum(weight * (said(coverage) - right) ** 2 for coverage, right, weight in answered)

    return min(SLOPES, key=error)


def example_weights(examples: Sequence[Example], book_weights: Mapping[str, float]) -> list[float]:
    """Each book counts alike unless `book_weights` says otherwise; in it the covered questions
    count as much as the others, and near misses as much as off-topic ones."""
    counts = Counter((example.book, example.kind) for example in examples)
    kinds = Counter(book for book, kind in counts if kind != "covered")

    def share(example: Example) -> float:
        alone = 0.5 if example.covered else 0.5 / kinds[example.book]
        own = book_weights.get(example.book, 1.0)
        return own * alone / counts[example.book, example.kind]

    shares = [share(example) for example in examples]
    total = sum(shares)
    return [len(examples) * value / total for value in shares]


def equal_errors(
    examples: Sequence[Example], coverages: Sequence[float], weights: Sequence[float]
) -> float:
    """The coverage at which as large a share of the covered lies below as of the others above."""
    covered = sum(w for w, example in zip(weights, examples, strict=True) if example.covered)
    uncovered = sum(weights) - covered
    refused, answered = 0.0, 1.0
    before = 0.0
    for coverage, weight, example in sorted(
        zip(coverages, weights, examples, strict=True), key=lambda row: row[0]
    ):
        if refused >= answered - 1e-9:
            return (before + coverage) / 2
        if example.covered:
            refused += weight / covered
        else:
            answered -= weight / uncovered
        before = coverage
    return before


def logistic_regression(x: Array, y: Array, weights: Array, signs: Array) -> tuple[Array, float]:
    """Weights and bias by Newton's method, with a ridge on standardised columns. A column whose
    weight comes out with the wrong sign is left out, and its weight is 0."""
    import numpy as np

    used = np.ones(x.shape[1], dtype=bool)
    while True:
        slopes, bias = _newton(x[:, used], y, weights)
        wrong = slopes * signs[used] < 0
        if not wrong.any():
            break
        used[np.flatnonzero(used)[wrong]] = False
    found = np.zeros(x.shape[1])
    found[used] = slopes
    return found, bias


def _newton(x: Array, y: Array, weights: Array) -> tuple[Array, float]:
    import numpy as np

    middle, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
    columns = np.column_stack([(x - middle) / scale, np.ones(len(x))])
    ridge = np.array([RIDGE] * x.shape[1] + [1e-6])
    theta = np.zeros(columns.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(columns @ theta, -30, 30)))
        gradient = columns.T @ (weights * (y - p)) - ridge * theta
        hessian = (columns * (weights * p * (1 - p))[:, None]).T @ columns + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        theta += step
        if abs(step).max() < 1e-9:
            break
    slopes = theta[:-1] / scale
    return slopes, float(theta[-1] - slopes @ middle)


def _held_out(
    examples: Sequence[Example], weights: Sequence[float], before: Calibration
) -> list[Calibration]:
    """For each example a model that has not seen it."""
    folds = _folds(examples)
    models: dict[str, Calibration] = {}
    for fold in sorted(set(folds)):
        seen = [index for index, other in enumerate(folds) if other != fold]
        models[fold] = _fit_once([examples[i] for i in seen], [weights[i] for i in seen], before)
    return [models[fold] for fold in folds]


def _folds(examples: Sequence[Example]) -> list[str]:
    """By book where there are enough of them, else by question."""
    if len({example.book for example in examples}) >= LEAST_BOOKS:
        return [example.book for example in examples]
    return [str(zlib.crc32(e.question.encode("utf-8")) % FOLDS) for e in examples]


def _fit_once(
    examples: Sequence[Example], weights: Sequence[float], before: Calibration
) -> Calibration:
    import numpy as np

    rows = [asdict(example.evidence.features) for example in examples]
    slopes, bias = logistic_regression(
        np.array([[row[name] for name in FEATURES] for row in rows]),
        np.array([float(example.covered) for example in examples]),
        np.array(weights),
        np.array([float(SIGNS[name]) for name in FEATURES]),
    )
    found = dict(zip(FEATURES, slopes.tolist(), strict=True))
    return replace(before, bias=bias, weights=found)
