"""Rows of a table: pieces that stand below each other in columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from bythebook.reading.pdf.pieces import Piece
from bythebook.reading.pdf.rows import Row

MIN_ROWS = 2
# In sizes of a letter: rows further apart are of two tables, nearer ones may be one cell's lines,
# and still nearer ones are indices of a formula.
FURTHEST = 3.5
NEAREST = 0.8
NEAR = 1.4
Interval = tuple[float, float]


def table_at(rows: Sequence[Row], start: int) -> tuple[int, list[list[str]]] | None:
    """The table that begins with this row: where it ends, and its cells."""
    if not _has_cells(rows[start]):
        return None
    end, columns = start + 1, _columns([rows[start]])
    while end < len(rows) and _follows(rows[end - 1], rows[end]):
        wider = _columns([row for row in rows[start : end + 1] if _has_cells(row)])
        if len(wider) < 2 or len(wider) < len(columns) - 1 or _cells(rows[end], wider) is None:
            break
        columns, end = wider, end + 1
    while end > start and not _has_cells(rows[end - 1]) and not _near(rows, end - 1):
        end -= 1
    inside = rows[start:end]
    full = [row for row in inside if _has_cells(row)]
    if len(full) < MIN_ROWS or len(full) < len(inside) / 2:
        return None
    return end, _joined(inside, columns)


def _has_cells(row: Row) -> bool:
    return len(row.pieces) > 1 and not row.mono


def _follows(above: Row, row: Row) -> bool:
    same = (above.page, above.column) == (row.page, row.column)
    size = max(above.size, row.size)
    return same and NEAREST * size < above.y - row.y < FURTHEST * size


def _near(rows: Sequence[Row], index: int) -> bool:
    return index > 0 and rows[index - 1].y - rows[index].y < NEAR * rows[index].size


def _columns(rows: Sequence[Row]) -> list[Interval]:
    """Where pieces overlap, they are of one column."""
    merged: list[Interval] = []
    for left, right in sorted((piece.left, piece.right) for row in rows for piece in row.pieces):
        if merged and left < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(right, merged[-1][1]))
        else:
            merged.append((left, right))
    return merged


def _cells(row: Row, columns: Sequence[Interval]) -> list[str] | None:
    """One text for each column; none where a piece reaches over two."""
    cells = [""] * len(columns)
    for piece in row.pieces:
        over = [index for index, column in enumerate(columns) if _overlap(piece, column)]
        if len(over) != 1:
            return None
        cells[over[0]] = f"{cells[over[0]]} {piece.text}".strip()
    return cells


def _overlap(piece: Piece, column: Interval) -> bool:
    return piece.left < column[1] and column[0] < piece.right


def _joined(rows: Sequence[Row], columns: Sequence[Interval]) -> list[list[str]]:
    """A cell of several lines is one cell again."""
    made: list[list[str]] = []
    distances = [
        above.y - row.y for above, row in pairwise(rows) if _has_cells(above) and _has_cells(row)
    ]
    spaced = median(distances) > NEAR * rows[0].size if distances else False
    for index, row in enumerate(rows):
        cells = _cells(row, columns) or [row.text, *[""] * (len(columns) - 1)]
        near = index > 0 and rows[index - 1].y - row.y < NEAR * row.size
        continues = near and not all(cells) and (spaced or not cells[0])
        if made and continues:
            made[-1] = [f"{a} {b}".strip() for a, b in zip(made[-1], cells, strict=True)]
        else:
            made.append(cells)
    return made
