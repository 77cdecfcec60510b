"""Facts that a right answer conveys, looked for in what is shown and in what was found.

A fact is a list of ways to say it, of which one must stand in the text. Case, spaces and Markdown's
signs do not count. That an answer cites the right page says little: it may quote the wrong line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bythebook.evaluation.question import Fact

SIGNS = re.compile(r"[*_`\\]+|\[\d{1,3}\]")
FEW = 5


@dataclass(frozen=True)
class Conveyed:
    """How many of a question's facts stand in the answer, in the first passage found and in the
    first five; and of the answer's characters, those of sentences that hold a fact."""

    facts: int
    by_answer: int
    by_first: int
    by_five: int
    characters: int = 0
    telling: int = 0


def conveyed(facts: Sequence[Fact], shown: Sequence[str], passages: Sequence[str]) -> Conveyed:
    """`shown` are the answer's sentences, `passages` the texts found, best first."""
    return Conveyed(
        facts=len(facts),
        by_answer=held(facts, "\n".join(shown)),
        by_first=held(facts, "\n".join(passages[:1])),
        by_five=held(facts, "\n".join(passages[:FEW])),
        characters=sum(map(len, shown)),
        telling=sum(len(sentence) for sentence in shown if held(facts, sentence)),
    )


def held(facts: Sequence[Fact], text: str) -> int:
    """How many of the facts the text holds."""
    said = plain(text)
    return sum(any(plain(way) in said for way in ways) for ways in facts)


def plain(text: str) -> str:
    return " ".join(SIGNS.sub("", text).casefold().split())
