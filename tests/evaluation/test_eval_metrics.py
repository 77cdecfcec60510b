"""Figures against values computed by hand, and what must hold for any."""

from __future__ import annotations

import random
from itertools import pairwise
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.evaluation.metrics import (
    auroc,
    best_split,
    bins_of,
    brier,
    calibration_error,
    hit,
    mean,
    ndcg,
    percentile,
    plain,
    recall,
    reciprocal_rank,
    roc_curve,
    sentence_f1,
    token_f1,
)

UNITS = st.lists(st.sampled_from("abcdefghijklmnop"), unique=True)
GOLD = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 3), min_size=1)
SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=30)
JUDGED = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50)


def test_ranks_by_hand() -> None:
    gold = {"b": 1, "d": 1}
    ranked = ["a", "b", "c", "d"]
    assert ndcg(ranked, gold) == pytest.approx((1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)))
    assert ndcg(["b", "d"], gold) == 1
    assert ndcg(ranked, {"a": 1, "b": 3}) == pytest.approx((1 + 3 / log2(3)) / (3 + 1 / log2(3)))
    assert recall(ranked, gold, 2) == 0.5
    assert recall(["b", "x"], {"b": 1, "c": 1, "d": 1}, 1) == 1
    assert hit(ranked, gold, 1) == 0 and hit(ranked, gold, 2) == 1
    assert reciprocal_rank(ranked, gold) == 0.5
    assert reciprocal_rank(["a"] * 10 + ["b"], gold) == 0


@given(UNITS, GOLD)
def test_ranks_lie_between_nothing_and_all(ranked: list[str], gold: dict[str, int]) -> None:
    for figure in (ndcg, recall, hit, reciprocal_rank):
        assert 0 <= figure(ranked, gold) <= 1 + 1e-9
    ideal = sorted(gold, key=lambda unit: -gold[unit])
    assert ndcg(ideal, gold) == pytest.approx(1)
    assert ndcg(["none", *ideal], gold) < 1


def test_areas_by_hand() -> None:
    assert auroc([0.9, 0.5], [0.1, 0.5]) == pytest.approx(3.5 / 4)
    assert auroc([0.9], []) is None
    assert roc_curve([0.9, 0.5], [0.5]) == [(0, 0), (0, 0.5), (1, 1)]
    assert best_split([0.9, 0.8, 0.2, 0.15], [0.3, 0.1]) == (0.75, 0.8)
    assert best_split([], [0.3]) is None


@given(SCORES, SCORES)
def test_areas_are_symmetric(right: list[float], wrong: list[float]) -> None:
    there, back = auroc(right, wrong), auroc(wrong, right)
    assert there is not None and back is not None
    assert there + back == pytest.approx(1)
    assert auroc([value + 1.0 for value in right], [value - 1.0 for value in wrong]) == 1
    best = best_split(right, wrong)
    assert best is not None and best[0] >= 0.5 - 1e-9


@given(SCORES, SCORES)
def test_the_area_is_that_under_the_curve(right: list[float], wrong: list[float]) -> None:
    curve = roc_curve(right, wrong)
    assert curve[-1] == (1, 1)
    assert curve == sorted(curve)
    under = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(curve))
    assert under == pytest.approx(auroc(right, wrong))


def test_calibration_by_hand() -> None:
    said, right = [0.95, 0.95, 0.65, 1.0], [True, False, True, True]
    first, second = bins_of(said, right)
    assert (first.low, first.high, first.count, first.right) == (0.6, 0.7, 1, 1)
    assert second.count == 3 and second.said == pytest.approx(2.9 / 3)
    expected = (1 * 0.35 + 3 * abs(2.9 / 3 - 2 / 3)) / 4
    assert calibration_error(said, right) == pytest.approx(expected)
    assert brier(said, right) == pytest.approx((0.0025 + 0.9025 + 0.1225 + 0) / 4)
    assert calibration_error([], []) is None and brier([], []) is None


def test_what_is_right_as_often_as_it_says_has_next_to_no_error() -> None:
    pick = random.Random(1)
    said = [pick.random() for _ in range(20_000)]
    error = calibration_error(said, [pick.random() < value for value in said])
    assert error is not None and error < 0.02
    assert calibration_error([0.25] * 4, [True, False, False, False]) == 0


@given(JUDGED)
def test_errors_lie_between_nothing_and_all(judged: list[tuple[float, bool]]) -> None:
    said, right = [row[0] for row in judged], [row[1] for row in judged]
    for error in (calibration_error(said, right), brier(said, right)):
        assert error is not None and 0 <= error <= 1
    assert sum(one.count for one in bins_of(said, right)) == len(judged)
    certain = [float(truth) for truth in right]
    assert calibration_error(certain, right) == brier(certain, right) == 0


def test_words_by_hand() -> None:
    assert plain("A **node** runs.[1] [12]") == "a node runs"
    assert token_f1("It takes ten minutes [1].", ["ten minutes"]) == pytest.approx(4 / 6)
    assert token_f1("It takes ten minutes.", ["six", "ten minutes"]) == pytest.approx(4 / 6)
    assert token_f1("the the", ["the cat"]) == 0.5
    assert token_f1("six", ["ten"]) == token_f1("six", []) == 0


def test_sentences_by_hand() -> None:
    said = ["A hard-boiled egg takes ten minutes. [1]", "It is eaten warm. [1]"]
    gold = ["A hard-boiled egg takes ten minutes .", "It was first boiled in Rome ."]
    assert sentence_f1(said, [gold]) == 0.5
    assert sentence_f1(said, [["Something else ."], gold]) == 0.5
    cut = "egg takes ten minutes in water that boils all the time"
    assert sentence_f1([f"An {cut}, they say."], [[cut]]) == 1
    assert sentence_f1(["It is eaten warm."], [["eaten warm"]]) == 0  # too short to be a part
    assert sentence_f1([], [gold]) == sentence_f1(said, []) == 0


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=3))
def test_agreement_lies_between_nothing_and_all(said: str, golds: list[str]) -> None:
    assert 0 <= token_f1(said, golds) <= 1
    assert 0 <= sentence_f1([said], [golds]) <= 1
    if plain(said):
        assert token_f1(said, [*golds, said]) == sentence_f1([said], [[said]]) == 1


def test_means_and_percentiles() -> None:
    assert mean([1, 2, 6]) == 3 and mean([]) is None
    values = [float(value) for value in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.95)) == (50, 95)
    assert percentile([7.0], 0.95) == 7 and percentile([], 0.5) is None
