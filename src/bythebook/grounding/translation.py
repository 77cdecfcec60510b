"""Checks for an answer in another language than the book: it has to quote what it rests on."""

from __future__ import annotations

import re

from bythebook.grounding.identifiers import missing_identifiers
from bythebook.grounding.instructions import without_instructions
from bythebook.grounding.numbers import Number, numbers_of
from bythebook.grounding.words import bare, tokens_of, without_markers

FEWEST_WORDS = 4
GROUPED = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")


def check_quote(quote: str, evidence: str) -> tuple[int, int] | None:
    """Where the evidence has the words of a quotation, if it has them; markup, white space, case
    and punctuation at the edges of words don't matter."""
    wanted = [token for token, _, _ in tokens_of(bare(quote))]
    if len(wanted) < FEWEST_WORDS:
        return None
    offered = tokens_of(bare(without_instructions(evidence)))
    for first in range(len(offered) - len(wanted) + 1):
        found = offered[first : first + len(wanted)]
        if all(theirs[0] == ours for theirs, ours in zip(found, wanted, strict=True)):
            return found[0][1], found[-1][2]
    return None


def facts_agree(claim: str, quote: str) -> tuple[str, ...]:
    """Numbers and identifiers of a claim that its quotation does not have, as reasons."""
    said = without_markers(claim)
    quoted = numbers_of(bare(quote))
    missing = [
        f"the number {number.shown} is not in the quotation"
        for number in numbers_of(bare(said), with_one=False)
        if not any(_agree(number, other) for other in quoted)
    ]
    names = dict.fromkeys(missing_identifiers(said, quote))
    return (*missing, *(f"“{name}” is not in the quotation" for name in names))


def _agree(ours: Number, theirs: Number) -> bool:
    """Units are compared only where both are known: "Sekunden" is not in the list. Many languages
    write 1.000 for one thousand."""
    grouped = GROUPED.search(ours.shown)
    values = {ours.value, grouped[0].replace(".", "") if grouped else ours.value}
    return theirs.value in values and (not ours.unit or not theirs.unit or ours.unit == theirs.unit)
