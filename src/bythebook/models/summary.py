"""What a conversation is about, in at most 200 characters, without a language model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bythebook.models.excerpt import shortened

if TYPE_CHECKING:
    from bythebook.models.conversation import Turn

MAX_SUMMARY = 200
# Room for places; the rest is for what was asked last.
MAX_PLACES = 140
# What a place weighs for each turn that has gone by since, and for each citation before it.
PER_TURN = 0.8
PER_CITATION = 0.6
WITHIN = " › "


def summarize(turns: Sequence[Turn]) -> str:
    """The places of the book that were cited, those of late and often first, then the last
    questions. No word is cut."""
    places = _places(_by_weight(turns))
    summary, asked = places, ""
    for turn in reversed(turns):
        question = " ".join(turn.question.split())
        asked = f"{question} / {asked}" if asked else question
        longer = f"{places} — {asked}" if places else asked
        if len(longer) > MAX_SUMMARY:
            break
        summary = longer
    return summary or (shortened(turns[-1].question, MAX_SUMMARY) if turns else "")


def _by_weight(turns: Sequence[Turn]) -> list[str]:
    weights: dict[str, float] = {}
    for age, turn in enumerate(reversed(turns)):
        for rank, label in enumerate(turn.sources):
            source = " ".join(label.split())
            weights[source] = weights.get(source, 0) + PER_TURN**age * PER_CITATION**rank
    # A stable sort: of equal weights, the one cited last comes first.
    return sorted(weights, key=lambda source: -weights[source])


def _places(labels: Iterable[str]) -> str:
    """Pages with their sections behind them, as many as there is room for."""
    pages: dict[str, list[str]] = {}
    text = ""
    for label in labels:
        page, _, section = label.partition(WITHIN)
        known = pages.get(page, [])
        more = {**pages, page: [*known, section] if section else known}
        longer = "; ".join(
            f"{name}: {', '.join(sections)}" if sections else name
            for name, sections in more.items()
        )
        if len(longer) <= MAX_PLACES:
            pages, text = more, longer
    return text
