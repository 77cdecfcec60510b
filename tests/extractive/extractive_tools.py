"""Passages, and what the reader might say of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.extractive.quotes import Quote, quotes_of
from bythebook.extractive.units import units_of
from bythebook.models.passage import Passage
from bythebook.reader.reader import Evidence, Reading
from models.samples import passage as sample


def marked(text: str, *answering: str) -> Reading:
    """A reading that marks the units which hold these words."""
    found = [
        Evidence(unit.start, unit.end, 0.9)
        for unit in units_of(text)
        if any(words in unit.text for words in answering)
    ]
    assert len(found) == len(answering), [unit.text for unit in units_of(text)]
    return Reading(0, 0.9, tuple(found))


def answer(text: str, *answering: str) -> str:
    """What is shown of a passage whose units with these words answer."""
    return joined(quotes_of(passage(text), [marked(text, *answering)]))


def joined(quotes: Sequence[Quote]) -> str:
    return "".join(quote.gap + quote.text for quote in quotes).strip()


def passage(text: str) -> Passage:
    return sample(text=text)


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)
