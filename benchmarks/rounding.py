"""Figures without the digits that are noise."""

from __future__ import annotations

from typing import Any


def rounded(figures: Any, digits: int) -> Any:
    if isinstance(figures, dict):
        return {name: rounded(value, digits) for name, value in figures.items()}
    if isinstance(figures, list):
        return [rounded(value, digits) for value in figures]
    return round(figures, digits) if isinstance(figures, float) else figures
