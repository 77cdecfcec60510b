"""Sentences that say the same, and sentences that say the opposite."""

from __future__ import annotations

import re

from bythebook.quoting.material import Material

NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
NEGATION = re.compile(
    r"\b(?:not|no|never|none|cannot|without|neither|nor|n't|\w+n't|\w+n’t)\b", re.IGNORECASE
)
ALIKE = 0.8
NEARLY_ALIKE = 0.55


def overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0


def same_words(a: frozenset[str], b: frozenset[str]) -> bool:
    return overlap(a, b) >= ALIKE


def contradicts(a: Material, b: Material) -> bool:
    """Most words in common, but another number or a negation in only one of them."""
    if a.kind not in ("sentence", "item") or b.kind not in ("sentence", "item"):
        return False
    if a.plain == b.plain:
        return False
    numbers_a, numbers_b = set(NUMBERS.findall(a.plain)), set(NUMBERS.findall(b.plain))
    words_a = frozenset(stem for stem in a.stems if not NUMBERS.fullmatch(stem))
    words_b = frozenset(stem for stem in b.stems if not NUMBERS.fullmatch(stem))
    if min(len(words_a), len(words_b)) < 3 or overlap(words_a, words_b) < NEARLY_ALIKE:
        return False
    if numbers_a and numbers_b and numbers_a.isdisjoint(numbers_b):
        return True
    return bool(NEGATION.search(a.plain)) != bool(NEGATION.search(b.plain))
