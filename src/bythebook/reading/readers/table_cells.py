"""Cells that span several rows or columns: every row is written so that it can be read alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MAX_COLUMNS = 60
# What stands in every row is a name, not a text.
LONGEST_REPEATED = 100
# Of HTML's `rowspan="0"`: as many as there are.
ALL_ROWS = 100_000


@dataclass
class Cell:
    """`continues`: its text stands in the row above, as Word writes a cell of several rows."""

    text: str = ""
    rows: int = 1
    columns: int = 1
    continues: bool = False


def filled(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """What spans several rows stands in each of them. What spans several columns stands in each of
    them if it is a heading, and else in the first. Columns in which no cell begins are left out."""
    found: list[list[str]] = []
    hanging: dict[int, tuple[str, int]] = {}
    width = 0
    for row in rows:
        line: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        done = 0
        while len(line) < MAX_COLUMNS and (
            done < len(row) or len(line) <= max(hanging, default=-1)
        ):
            at = len(line)
            if at in hanging:
                text, left = hanging[at]
                line.append(text)
                below |= {at: (text, left - 1)} if left > 1 else {}
            elif done == len(row):
                line.append("")
            else:
                cell = row[done]
                done += 1
                width = max(width, at + 1)
                # What follows and what hangs have a column each, too.
                further = [column for column in hanging if column > at]
                room = MAX_COLUMNS - at - (len(row) - done) - len(further)
                room = min([room, *(column - at for column in further)])
                line += _across(cell, found, at, room, is_only=len(row) == 1)
                if cell.rows > 1:
                    shown = [text if len(text) <= LONGEST_REPEATED else "" for text in line]
                    below |= {n: (shown[n], cell.rows - 1) for n in range(at, len(line))}
        found.append(line)
        hanging = below
    return [line[:width] for line in found]


def _across(cell: Cell, above: list[list[str]], at: int, room: int, *, is_only: bool) -> list[str]:
    """The texts of a cell's columns."""
    count = max(1, min(cell.columns, room))
    text = cell.text
    if cell.continues and above and at < len(above[-1]):
        text = above[-1][at] if len(above[-1][at]) <= LONGEST_REPEATED else ""
    is_heading = not above and not is_only and len(text) <= LONGEST_REPEATED
    return [text if n == 0 or is_heading else "" for n in range(count)]


def span(value: str | None, of_zero: int = 1) -> int:
    """How many rows or columns an attribute names."""
    number = int(value) if value and value.isascii() and value.isdecimal() and len(value) < 6 else 1
    return number or of_zero
