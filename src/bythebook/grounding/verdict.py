"""Tables that answer with yes and no: their rows have the same words and say opposite things."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bythebook.grounding.claim import Claim
from bythebook.grounding.evidence import Evidence, Unit
from bythebook.grounding.matching import Stretch
from bythebook.grounding.polarity import DENIALS

CELL = re.compile(r"[^|]+")
YES = re.compile(r"\W*(?:yes|true|supported|✓|✔|✅)\b|\s*[✓✔✅]", re.IGNORECASE)
NO = re.compile(r"\W*(?:no|not|never|false|unsupported)\b|\s*[✗✘❌]", re.IGNORECASE)


def broken_verdict(claim: Claim, evidence: Evidence, stretch: Stretch) -> Iterator[str]:
    """A claim that rests on such a table must agree with every row it can be about."""
    used = evidence.units[stretch.first : stretch.last + 1]
    tables = {unit.piece for unit in used if unit.kind == "table"}
    if claim.is_row or not tables:
        return
    rows = [
        (row, verdict)
        for row in evidence.units
        if row.header and row.piece in tables
        if (verdict := _verdict(evidence, row)) is not None
    ]
    if not rows:
        return
    vocabulary = frozenset[str]().union(*(row.stems for row, _ in rows)) - {"yes", "no"}
    said = {stem for word in claim.words for stem in word.stems} & vocabulary
    meant = {verdict for row, verdict in rows if said <= row.stems}
    denies = any(word.text in DENIALS or word.text.endswith("n't") for word in claim.words)
    if len(meant) != 1:
        yield "the table says yes in one row and no in another"
    elif meant == {denies}:
        yield f"the table says {'no' if not denies else 'yes'} there"


def _verdict(evidence: Evidence, row: Unit) -> bool | None:
    """What a row says, if it has a cell that says yes or no."""
    cells = CELL.findall(evidence.text[row.start : row.end])
    for cell in reversed(cells):
        if YES.match(cell):
            return True
        if NO.match(cell):
            return False
    return None
