"""From raw evidence to a score between 0 and 1 that means the same with every embedder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp


@dataclass(frozen=True)
class Calibration:
    """A logistic curve over evidence; `dense` is the cosine's share in it."""

    model: str
    dense: float
    slope: float
    middle: float
    fitted_on: str

    def evidence(self, cosine: float, words: float) -> float:
        return self.dense * cosine + (1 - self.dense) * min(words, 1.0)

    def score(self, evidence: float) -> float:
        exponent = -self.slope * (evidence - self.middle)
        return 1.0 / (1.0 + exp(min(exponent, 700.0)))


@cache
def calibration_for(model: str) -> Calibration:
    """The curve of this embedder; one that was never fitted gets the cautious default."""
    known = _known()
    return known.get(model, known["default"])


@cache
def _known() -> dict[str, Calibration]:
    text = (resources.files("bythebook.retrieval") / "calibrations.json").read_text("utf-8")
    return {entry["model"]: Calibration(**entry) for entry in json.loads(text)}
