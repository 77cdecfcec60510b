"""A retrieved passage as every model is shown it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Excerpt:
    """`number` is the one to cite it by; `text` is Markdown; `score` is calibrated, 0–1."""

    number: int
    text: str
    title: str
    section: str
    score: float
