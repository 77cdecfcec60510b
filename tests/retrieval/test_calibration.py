"""Coverage and scores: bounded, in order, monotone, and a person's own before the shipped."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.errors import ConfigurationError
from bythebook.retrieval.answerability import FEATURES, SIGNS, Features
from bythebook.retrieval.calibration import (
    BUILT_IN,
    FILE,
    LEAST_ABOVE,
    THRESHOLD,
    calibration_for,
    read_calibrations,
    write_calibration,
)

shares = st.floats(0, 1)
features = st.builds(Features, st.floats(-1, 1), st.floats(0, 2), shares)
evidence = st.lists(st.floats(-0.5, 1), min_size=1, max_size=20).map(
    lambda values: sorted(values, reverse=True)
)


@given(features)
def test_coverage_is_a_probability(seen: Features) -> None:
    coverage = calibration_for(BUILT_IN).coverage(seen)
    assert 0 < coverage < 1
    assert coverage == calibration_for(BUILT_IN).coverage(seen)


@given(features, st.sampled_from(FEATURES), st.floats(0, 1))
def test_coverage_goes_the_way_each_feature_points(seen: Features, name: str, more: float) -> None:
    raised = replace(seen, **{name: asdict(seen)[name] + more})
    calibration = calibration_for(BUILT_IN)
    change = calibration.coverage(raised) - calibration.coverage(seen)
    assert change * SIGNS[name] >= 0


@given(st.floats(0.001, 0.999), st.lists(st.floats(-0.5, 1), min_size=1, max_size=20))
def test_scores_fall_and_stay_within_bounds(coverage: float, strengths: list[float]) -> None:
    """Whatever speaks for each: a definition comes first even where others have more evidence."""
    given_scores = calibration_for(BUILT_IN).scores(coverage, strengths)
    assert given_scores == sorted(given_scores, reverse=True)
    assert all(0 < score <= 1 for score in given_scores)


@given(st.floats(0.001, 0.999), evidence)
def test_the_decision_is_the_questions_and_the_mean_of_five_what_is_shown(
    coverage: float, strengths: list[float]
) -> None:
    calibration = calibration_for(BUILT_IN)
    found = calibration.scores(coverage, strengths)
    if coverage < THRESHOLD:
        assert found[0] == coverage
        return
    assert min(found) >= THRESHOLD
    best, shown = found[:5], calibration.shown(coverage)
    mean = max(shown, THRESHOLD + LEAST_ABOVE)
    assert sum(best) / len(best) <= mean + 1e-9
    if best[0] < 1 - 1e-9:
        assert sum(best) / len(best) == pytest.approx(mean)


@pytest.mark.parametrize("coverage", [0.4, 0.999])
def test_scores_are_spread_as_the_evidence_is(coverage: float) -> None:
    calibration = calibration_for(BUILT_IN)
    far = calibration.scores(coverage, [0.6, 0.5, 0.4, 0.35, 0.3])
    near = calibration.scores(coverage, [0.6, 0.59, 0.58, 0.57, 0.56])
    assert far[0] - far[4] > 0.15 and far[0] - far[4] > 2 * (near[0] - near[4]) > 0


@given(st.floats(0.001, 0.999), st.floats(0.05, 1), st.floats(0.001, 0.999))
def test_calming_keeps_order_and_decision(one: float, slope: float, other: float) -> None:
    calibration = replace(calibration_for(BUILT_IN), slope=slope)
    low, high = sorted([one, other])
    assert calibration.shown(low) <= calibration.shown(high)
    assert (calibration.shown(one) >= THRESHOLD) == (one >= THRESHOLD)
    assert min(one, THRESHOLD) <= calibration.shown(one) <= max(one, THRESHOLD) + 1e-12


@given(features)
def test_what_is_far_from_the_question_does_not_cover_it(seen: Features) -> None:
    calibration = replace(calibration_for(BUILT_IN), least_cosine=0.2)
    if seen.cosine < 0.2:
        assert calibration.coverage(seen) <= 0.1 + 1e-12
    else:
        assert calibration.coverage(seen) == replace(calibration, least_cosine=-1).coverage(seen)


@given(features, st.floats(0, 3))
def test_a_book_that_demands_more_is_covered_less(seen: Features, raised_threshold: float) -> None:
    calibration = calibration_for(BUILT_IN)
    assert calibration.coverage(seen, raised_threshold) <= calibration.coverage(seen)


def test_an_unknown_embedder_gets_the_built_in_calibration(tmp_path: Path) -> None:
    """How near is near differs between embedders, so that a cosine alone refuses nothing."""
    unknown = calibration_for("text-embedding-9", tmp_path)
    shipped = calibration_for(BUILT_IN)
    assert unknown == replace(shipped, model="text-embedding-9", least_cosine=-1.0)
    assert shipped.least_cosine > 0


def test_a_persons_own_calibration_comes_first(tmp_path: Path) -> None:
    shipped = calibration_for(BUILT_IN, tmp_path)
    write_calibration(tmp_path / FILE, replace(shipped, bias=-1.5))
    write_calibration(tmp_path / FILE, replace(shipped, model="another", bias=-2.5))
    assert calibration_for(BUILT_IN, tmp_path).bias == -1.5
    assert calibration_for("another", tmp_path).bias == -2.5
    assert calibration_for(BUILT_IN) == shipped
    write_calibration(tmp_path / FILE, shipped)
    assert calibration_for(BUILT_IN, tmp_path) == shipped
    assert set(read_calibrations(tmp_path / FILE)) == {BUILT_IN, "another"}


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[{}]",
        '[{"model": "m", "dense": 0.5, "bias": 0, "weights": {}, "fitted_on": ""}]',
        '[{"model": "m", "dense": 0.5, "bias": 0, "fitted_on": "", '
        '"weights": {"cosine": -1, "evidence": 1, "missing": 0}}]',
        '[{"model": "m", "dense": 7, "bias": 0, "fitted_on": "", '
        '"weights": {"cosine": 1, "evidence": 1, "missing": 0}}]',
        '[{"model": "m", "dense": 0.5, "bias": 0, "fitted_on": "", "slope": 0, '
        '"weights": {"cosine": 1, "evidence": 1, "missing": 0}}]',
    ],
)
def test_a_damaged_calibration_is_an_error_that_says_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="can't be used") as problem:
        calibration_for("m", tmp_path)
    assert "bythebook calibrate" in str(problem.value.action)
