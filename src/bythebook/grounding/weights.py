"""Weights of the check.

`python benchmarks/grounding.py --fit` prints those in FITTED and the bias. A splice is too rare in
the data it is fitted on, so its weight is set by hand: one splice makes a full match fail.
"""

from __future__ import annotations

FITTED = {
    "stretch": 3.75,
    "order": 1.79,
    "unmatched": -3.43,
    "first_person": -1.86,
    "asks": -2.94,
}
WEIGHTS = {**FITTED, "spliced": -5.0}
BIAS = -3.08
