"""Fitting a calibration and measuring it."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.errors import InputError
from bythebook.evaluation.metrics import auroc, calibration_error, confidence_of, measure
from bythebook.models.chunk import Background
from bythebook.retrieval.answerability import Answerability, Features
from bythebook.retrieval.calibration import BUILT_IN, THRESHOLD, calibration_for, raised_threshold
from bythebook.retrieval.fitting import (
    Example,
    Kind,
    equal_errors,
    example_weights,
    fit,
    logistic_regression,
)

CENTRES: dict[Kind, tuple[float, float, float]] = {
    "covered": (0.55, 0.5, 0.02),
    "near": (0.45, 0.35, 0.7),
    "off-topic": (0.15, 0.15, 0.5),
}


def example(book: str, kind: Kind, number: int, noise: float = 0.08) -> Example:
    chance = random.Random(f"{book}{kind}{number}")
    cosine, evidence, missing = (chance.gauss(value, noise) for value in CENTRES[kind])
    features = Features(cosine, evidence, min(max(missing, 0), 1))
    strengths = (evidence, evidence - 0.05, evidence - 0.1, evidence - 0.1, evidence - 0.12)
    return Example(book, f"question {number} of {book}", kind, Answerability(features, strengths))


def examples(books: int, each: int = 20, noise: float = 0.08) -> list[Example]:
    return [
        example(f"book {book}", kind, number, noise)
        for book in range(books)
        for kind in CENTRES
        for number in range(each)
    ]


@pytest.mark.parametrize("books", [1, 3])
def test_a_fit_separates_what_can_be_separated(books: int) -> None:
    asked = examples(books)
    before = replace(calibration_for(BUILT_IN), bias=-9.0)
    found = fit(asked, before, "a test")
    weights = example_weights(asked, {})
    poor = measure(asked, [e.coverage(before) for e in asked], weights, before)
    good = measure(asked, found.held_out, weights, found.calibration)
    assert good.balanced_accuracy is not None and poor.balanced_accuracy is not None
    assert good.balanced_accuracy > 0.93 > poor.balanced_accuracy
    assert good.auroc_off_topic == pytest.approx(1, abs=0.01)
    assert good.calibration_error < 0.1
    assert found.calibration.fitted_on == "a test" and found.calibration.model == BUILT_IN
    assert found == fit(asked, before, "a test")


def test_the_threshold_lies_where_both_errors_are_equally_frequent() -> None:
    asked = examples(4, each=60, noise=0.2)
    found = fit(asked, calibration_for(BUILT_IN), "a test")
    quality = measure(asked, found.held_out, example_weights(asked, {}), found.calibration)
    assert quality.answered and quality.refused_near and quality.refused_off_topic
    refused = (quality.refused_near + quality.refused_off_topic) / 2
    assert quality.answered == pytest.approx(refused, abs=0.06)


@pytest.mark.parametrize("right", [0.75, 0.95])
def test_the_slope_follows_how_often_answers_are_right(right: float) -> None:
    asked = [
        replace(one, found=number % 100 < 100 * right if one.covered else None)
        for number, one in enumerate(examples(3, each=100, noise=0.02))
    ]
    found = fit(asked, calibration_for(BUILT_IN), "a test")
    answered = [
        found.calibration.shown(coverage)
        for coverage, one in zip(found.held_out, asked, strict=True)
        if one.covered and coverage >= THRESHOLD
    ]
    assert sum(answered) / len(answered) == pytest.approx(right, abs=0.03)


def test_a_book_about_everything_demands_more() -> None:
    calibration = calibration_for(BUILT_IN)
    manual = Background(passages=100, evidence=((0.1, 0.1, 0.5),) * 60)
    encyclopaedia = Background(
        passages=100, evidence=((0.1, 0.1, 0.5),) * 50 + ((0.6, 0.6, 0.0),) * 10
    )
    assert raised_threshold(calibration, None) == raised_threshold(calibration, manual) == 0
    assert 0 < raised_threshold(calibration, encyclopaedia) <= 1
    one = replace(example("a", "covered", 1), background=manual)
    other = replace(one, background=encyclopaedia)
    assert other.coverage(calibration) < one.coverage(calibration)


def test_too_few_questions_are_refused() -> None:
    covered = [e for e in examples(1) if e.covered]
    with pytest.raises(InputError, match="0 uncovered questions"):
        fit(covered, calibration_for(BUILT_IN), "a test")
    with pytest.raises(InputError, match="0 covered questions"):
        fit([e for e in examples(1) if not e.covered], calibration_for(BUILT_IN), "a test")


def test_a_column_that_points_the_wrong_way_is_left_out() -> None:
    chance = np.random.default_rng(1)
    y = np.repeat([0.0, 1.0], 100)
    x = np.column_stack([y + chance.normal(0, 1, 200), -y + chance.normal(0, 1, 200)])
    slopes, _ = logistic_regression(x, y, np.ones(200), np.array([1.0, 1.0]))
    assert slopes[0] > 0 and slopes[1] == 0


def test_logistic_regression_finds_the_odds() -> None:
    x = np.repeat([[0.0], [1.0]], 1000, axis=0)
    y = np.array([1.0] * 200 + [0.0] * 800 + [1.0] * 800 + [0.0] * 200)
    slopes, bias = logistic_regression(x, y, np.ones(2000), np.array([1.0]))
    assert bias == pytest.approx(np.log(0.25), abs=0.02)
    assert slopes[0] == pytest.approx(np.log(16), abs=0.04)


def test_books_and_kinds_count_alike() -> None:
    asked = [*examples(1, each=3), *(example("large", "covered", n) for n in range(30))]
    asked += [example("large", "near", n) for n in range(5)]
    weights = example_weights(asked, {"large": 2.0})

    def total(book: str, *kinds: Kind) -> float:
        pairs = zip(asked, weights, strict=True)
        return sum(w for e, w in pairs if e.book == book and e.kind in kinds)

    assert total("book 0", "covered") == pytest.approx(total("book 0", "near", "off-topic"))
    assert total("book 0", "near") == pytest.approx(total("book 0", "off-topic"))
    assert total("large", "covered") == pytest.approx(2 * total("book 0", "covered"))
    assert sum(weights) == pytest.approx(len(asked))


def test_equal_errors_between_separated_kinds() -> None:
    asked = examples(1, each=5)
    coverages = [0.9 if e.covered else 0.2 for e in asked]
    point = equal_errors(asked, coverages, example_weights(asked, {}))
    assert 0.2 < point < 0.9


def test_confidence_follows_s4() -> None:
    assert confidence_of([0.72, 0.71, 0.69]) == pytest.approx(0.715)
    assert confidence_of([0.72, 0.69, 0.69]) is None
    assert confidence_of([]) is None
    assert confidence_of([0.9] * 5) == pytest.approx(0.9)


def test_auroc_and_calibration_error() -> None:
    assert auroc([0.9, 0.8], [0.1, 0.2]) == 1
    assert auroc([0.5], [0.5]) == 0.5
    assert auroc([], [0.5]) is None
    assert calibration_error([0.8] * 10, [True] * 8 + [False] * 2, [1.0] * 10) == pytest.approx(0)
    assert calibration_error([1.0, 1.0], [True, False], [1.0, 1.0]) == pytest.approx(0.5)
    assert calibration_error([], [], []) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
def test_calibration_error_is_a_share(pairs: list[tuple[float, bool]]) -> None:
    said, right = zip(*pairs, strict=True)
    error = calibration_error(said, right, [1.0] * len(pairs))
    assert error is not None and 0 <= error <= 1
