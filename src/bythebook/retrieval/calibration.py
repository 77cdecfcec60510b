"""From raw evidence to numbers between 0 and 1 that mean the same with every embedder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import resources
from math import exp, log
from pathlib import Path

from bythebook.errors import ConfigurationError
from bythebook.retrieval.coverage import FEATURES, SIGNS, Features

# The embedder whose calibration serves those that were never fitted.
BUILT_IN = "all-MiniLM-L6-v2"
# Where a person's own calibrations are kept, below the data folder.
FILE = "calibrations.json"
# How far a passage's score may stand from the question's for a difference of 1 in evidence, in
# log-odds. Small: the scores of one search carry what is known of the question.
SPREAD = 0.8
# The passage, counted from 0, whose score is the question's. S4 takes two or three passages above
# the threshold for an answer, also where one alone holds it.
ANCHOR = 2
SUREST = 0.999
# S4's default: from this score on a passage counts.
THRESHOLD = 0.7
# As covered as a question may seem whose best passage has nothing to do with it.
FAR = 0.1


@dataclass(frozen=True)
class Calibration:
    """A logistic model of coverage; `dense` is the cosine's share in a passage's evidence.

    The threshold lies where answering pays, so what is just above it is right less often than the
    model says: above the threshold log-odds count by `slope` only. A best passage of a cosine
    below `least_cosine` has nothing to do with the question, whatever words they share.
    """

    model: str
    dense: float
    bias: float
    weights: Mapping[str, float] = field(hash=False)
    fitted_on: str
    slope: float = 1.0
    least_cosine: float = -1.0

    def __post_init__(self) -> None:
        if set(self.weights) != set(FEATURES):
            raise ValueError(f"weights are for {sorted(self.weights)}, not {sorted(FEATURES)}")
        for name, weight in self.weights.items():
            if weight * SIGNS[name] < 0:
                raise ValueError(f"the weight of {name} has the wrong sign")
        if not 0 <= self.dense <= 1:
            raise ValueError("dense is not between 0 and 1")
        if not 0 < self.slope <= 1:
            raise ValueError("slope is not between 0 and 1")

    def evidence(self, cosine: float, words: float) -> float:
        return self.dense * cosine + (1 - self.dense) * min(words, 1.0)

    def log_odds(self, features: Features) -> float:
        values: dict[str, float] = asdict(features)
        sure = self.bias + sum(self.weights[name] * values[name] for name in FEATURES)
        return min(sure, log_odds(FAR)) if features.cosine < self.least_cosine else sure

    def coverage(self, features: Features, demanded: float = 0.0) -> float:
        """How much speaks for the book's answering the question, as a probability of the model;
        `demanded` is what this book asks for beyond the usual, in log-odds."""
        sure = logistic(self.log_odds(features) - demanded)
        return min(max(sure, 1 - SUREST), SUREST)

    def shown(self, coverage: float) -> float:
        """How probable it is that the answer comes from the right place."""
        threshold, sure = log_odds(THRESHOLD), log_odds(coverage)
        return (
            coverage if sure <= threshold else logistic(threshold + self.slope * (sure - threshold))
        )

    def scores(self, coverage: float, strengths: Sequence[float], anchor: float) -> list[float]:
        """Scores of passages from the question's coverage and each one's evidence: in their order
        and close together; one with the evidence `anchor` has what is shown of the coverage."""
        middle = log_odds(coverage)
        return [self.shown(logistic(middle + SPREAD * (each - anchor))) for each in strengths]


def anchor_of(strengths: Sequence[float]) -> float:
    """The evidence at which the scores of a search hang; `strengths` are best first."""
    return strengths[min(ANCHOR, len(strengths) - 1)] if strengths else 0.0


def logistic(value: float) -> float:
    return 1.0 / (1.0 + exp(min(-value, 700.0)))


def log_odds(probability: float) -> float:
    return log(probability / (1 - probability))


@cache
def calibration_for(model: str, home: Path | None = None) -> Calibration:
    """The calibration of this embedder: the person's own in `home`, else the one that ships. An
    embedder that was never fitted gets that of the built-in one."""
    own = read_calibrations(home / FILE) if home is not None and (home / FILE).exists() else {}
    shipped = _shipped()
    return own.get(model) or shipped.get(model) or shipped[BUILT_IN]


def read_calibrations(file: Path) -> dict[str, Calibration]:
    """Calibrations of a file by the name of their embedder."""
    try:
        return _parse(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, TypeError, KeyError) as problem:
        raise ConfigurationError(
            f"The calibration {file} can't be used: {problem}.",
            action="Run `bythebook calibrate` again, or remove the file.",
        ) from problem


def write_calibration(file: Path, calibration: Calibration) -> None:
    """Add it to the file, in place of the one for the same embedder."""
    known = read_calibrations(file) if file.exists() else {}
    known[calibration.model] = calibration
    entries = [asdict(entry) for entry in known.values()]
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(file)
    calibration_for.cache_clear()


@cache
def _shipped() -> dict[str, Calibration]:
    return _parse((resources.files("bythebook.retrieval") / FILE).read_text("utf-8"))


def _parse(text: str) -> dict[str, Calibration]:
    return {entry["model"]: Calibration(**entry) for entry in json.loads(text)}
