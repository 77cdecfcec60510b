"""Cells that span several rows or columns: every row is written so that it can be read alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MAX_COLUMNS = 60
# What stands in every row is a name, not a text.
LONGEST_REPEATED = 100


@dataclass
class Cell:
    """`continues`: its text stands in the row above, as Word writes a cell of several rows."""

    text: str = ""
    rows: int = 1
    columns: int = 1
    continues: bool = False


def filled(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """What spans several rows stands in each of them. What spans several columns stands in each of
    them if it is a heading, and else in the first."""
    found: list[list[str]] = []
    hanging: dict[int, tuple[str, int]] = {}
    for row in rows:
        line: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        cells = iter(row)
        cell = next(cells, None)
        while len(line) < MAX_COLUMNS and (cell or len(line) <= max(hanging, default=-1)):
            at = len(line)
            if at in hanging:
                text, left = hanging[at]
                line.append(text)
                below |= {at: (text, left - 1)} if left > 1 else {}
            elif cell is None:
                line.append("")
            else:
                line += _across(cell, found, at, is_only=len(row) == 1)
                if cell.rows > 1:
                    shown = [text if len(text) <= LONGEST_REPEATED else "" for text in line]
                    below |= {n: (shown[n], cell.rows - 1) for n in range(at, len(line))}
                cell = next(cells, None)
        found.append(line)
        hanging = below
    return found


def _across(cell: Cell, above: list[list[str]], at: int, *, is_only: bool) -> list[str]:
    """The texts of a cell's columns."""
    count = max(1, min(cell.columns, MAX_COLUMNS - at))
    text = cell.text
    if cell.continues and above and at < len(above[-1]):
        text = above[-1][at] if len(above[-1][at]) <= LONGEST_REPEATED else ""
    is_heading = not above and not is_only
    return [text if n == 0 or is_heading else "" for n in range(count)]


def span(value: str | None) -> int:
    """How many rows or columns an attribute names; 0 is as many as there are."""
    number = int(value) if value and value.isascii() and value.isdecimal() and len(value) < 6 else 1
    return number or 100_000
