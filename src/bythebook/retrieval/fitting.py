"""Fits a calibration to labelled questions: logistic regression, held out by book."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Literal

from bythebook.errors import InputError
from bythebook.retrieval.calibration import Calibration, log_odds, logistic
from bythebook.retrieval.coverage import FEATURES, SIGNS, Coverage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Kind = Literal["covered", "near", "off-topic"]
# S4's default: from this score on a passage counts.
THRESHOLD = 0.7
FOLDS = 5
# From so many books on, each fold is a book: what is measured then is an unseen book.
LEAST_BOOKS = 3
LEAST_EXAMPLES = 10
RIDGE = 1.0
STEPS = 50
# How far the threshold then leans towards answering, in log-odds. What is let through is judged
# once more by whoever writes the answer and by the verification; a refusal is final.
LEAN = 0.2
# The farthest that the bias may be moved to where both kinds of error are equally frequent.
LONGEST_SHIFT = 1.5


@dataclass(frozen=True)
class Example:
    """A question asked of a book; an off-topic one was made for another book."""

    book: str
    question: str
    kind: Kind
    evidence: Coverage

    @property
    def covered(self) -> bool:
        return self.kind == "covered"


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
    """A calibration for the embedder of `before`. Its bias puts S4's threshold where both errors,
    refusing what is covered and answering what is not, are equally frequent on held-out folds
    (those of the books of `balanced_on`, or of all), and a little towards answering."""
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
    held_out = _held_out(examples, weights, before)
    judges = [not balanced_on or example.book in balanced_on for example in examples]
    point = equal_errors(
        list(compress(examples, judges)),
        list(compress(held_out, judges)),
        list(compress(weights, judges)),
    )
    shift = log_odds(THRESHOLD) - log_odds(point)
    shift = min(max(shift, -LONGEST_SHIFT), LONGEST_SHIFT) + LEAN
    whole = _fit_once(examples, weights, before)
    return Fit(
        replace(
            whole,
            bias=round(whole.bias + shift, 3),
            weights={name: round(weight, 3) for name, weight in whole.weights.items()},
            fitted_on=fitted_on,
        ),
        [logistic(log_odds(coverage) + shift) for coverage in held_out],
    )


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
) -> list[float]:
    folds = _folds(examples)
    coverages = [0.0] * len(examples)
    for fold in sorted(set(folds)):
        seen = [index for index, other in enumerate(folds) if other != fold]
        model = _fit_once([examples[i] for i in seen], [weights[i] for i in seen], before)
        for index, other in enumerate(folds):
            if other == fold:
                coverages[index] = model.coverage(examples[index].evidence.features)
    return coverages


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
