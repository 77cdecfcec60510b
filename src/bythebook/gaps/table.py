"""Gaps as CSV, for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from bythebook.models.gap import Gap

COLUMNS = (
    "question asked sessions refused low nearest link up down reasons wordings different book "
    "last_asked"
).split()
BETWEEN = " | "
# A spreadsheet computes what begins so, and what it computes may send data elsewhere.
FORMULA = tuple("=+-@＝＋－＠")
CONTROL = tuple("\t\r\n")


def as_csv(gaps: Iterable[Gap]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for gap in gaps:
        writer.writerow(_cell(value) for value in _row(gap))
    return text.getvalue()


def _row(gap: Gap) -> Iterable[str | int]:
    yield from (gap.question, gap.asked, gap.sessions, gap.refused, gap.low)
    yield gap.nearest.title if gap.nearest else ""
    yield (gap.nearest.url if gap.nearest else None) or ""
    yield from (gap.up, gap.down, BETWEEN.join(gap.reasons), BETWEEN.join(gap.wordings))
    yield from (gap.different, gap.book_id, f"{gap.last_asked:%Y-%m-%d %H:%M}")


def _cell(value: str | int) -> str:
    """An apostrophe before it makes a spreadsheet take it as text."""
    text = str(value)
    is_risky = text.startswith(CONTROL) or text.lstrip().startswith(FORMULA)
    return f"'{text}" if is_risky else text
