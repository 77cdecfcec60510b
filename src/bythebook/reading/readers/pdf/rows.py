"""The rows of a page in reading order, without running heads and feet."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from bythebook.reading.readers.pdf.text_runs import SAME_LINE, TextRun

# A gap between columns is as wide as this; so many of them are tried on a page of so many rows.
GUTTER = 6.0
MAX_GUTTERS = 6
MAX_ROWS = 2_000
# Lines a column has at least, and how much of its width they fill; a table's cells fill less.
COLUMN_LINES = 4
FILLED = 0.6
COLUMN_LETTERS = 18
# The same where the other side says nothing: no table has so full a column.
PROSE_LINES = 8
PROSE_FILLED = 0.8
PROSE_LETTERS = 30
DEEPEST = 4


@dataclass(frozen=True)
class Row:
    """Pieces side by side in a column that reaches from `left` to `right`."""

    pieces: tuple[TextRun, ...]
    page: int
    column: int
    left: float
    right: float

    @property
    def text(self) -> str:
        return " ".join(piece.text for piece in self.pieces)

    @property
    def y(self) -> float:
        return self.pieces[0].y

    @property
    def size(self) -> float:
        return max(self.pieces, key=lambda piece: len(piece.text)).size

    @property
    def start(self) -> float:
        return self.pieces[0].left

    @property
    def end(self) -> float:
        return self.pieces[-1].right

    @property
    def bold(self) -> bool:
        return all(piece.bold for piece in self.pieces)

    @property
    def mono(self) -> bool:
        return all(piece.mono for piece in self.pieces)


def rows_of(pieces: Sequence[TextRun], page: int) -> list[Row]:
    """Pieces of one height together, from the top down."""
    rows: list[list[TextRun]] = []
    for piece in sorted(pieces, key=lambda piece: (-piece.y, piece.left)):
        above = rows[-1][0] if rows else None
        if above and above.y - piece.y <= SAME_LINE * min(above.size, piece.size):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    ordered = [tuple(sorted(row, key=lambda piece: piece.left)) for row in rows]
    if not ordered:
        return []
    left = min(row[0].left for row in ordered)
    right = max(piece.right for row in ordered for piece in row)
    return [Row(row, page, 0, left, right) for row in ordered]


def in_reading_order(rows: Sequence[Row]) -> list[Row]:
    """Left column before right column, between lines that go across both."""
    ordered = _ordered(rows, 0) if len(rows) <= MAX_ROWS else list(rows)
    numbered: list[Row] = []
    for row in ordered:
        above = numbered[-1] if numbered else row
        same = (row.left, row.right) == (above.left, above.right) and row.y <= above.y
        numbered.append(replace(row, column=above.column + (not same)))
    return numbered


def _ordered(rows: Sequence[Row], depth: int) -> list[Row]:
    """Split at the gutter with the most rows beside it, then what is left over at another."""
    if depth == DEEPEST or len(rows) < COLUMN_LINES:
        return list(rows)
    found = [_split(rows, gutter) for gutter in _gutters(rows)]
    best = max(found, key=_in_columns, default=[])
    if not _in_columns(best):
        return list(rows)
    ordered: list[Row] = []
    for parts in best:
        for part in parts:
            ordered += _ordered(part, depth + 1)
    return ordered


def _in_columns(split: Sequence[Sequence[Sequence[Row]]]) -> int:
    return sum(len(side) for sides in split if len(sides) == 2 for side in sides)


def _split(rows: Sequence[Row], gutter: float) -> list[list[list[Row]]]:
    """From the top down: two columns, or rows that are none."""
    split: list[list[list[Row]]] = []
    zone: list[Row] = []
    for row in [*rows, None]:
        if row and not any(piece.left < gutter < piece.right for piece in row.pieces):
            zone.append(row)
            continue
        sides = [_side(zone, gutter, False), _side(zone, gutter, True)]
        if _are_columns(sides):
            split.append(sides)
            zone = []
        if row:
            zone.append(row)
        if zone and split and len(split[-1]) == 1:
            split[-1][0] += zone
        elif zone:
            split.append([zone])
        zone = []
    return split


def _side(rows: Sequence[Row], gutter: float, right_side: bool) -> list[Row]:
    side: list[Row] = []
    for row in rows:
        pieces = tuple(piece for piece in row.pieces if (piece.left >= gutter) == right_side)
        if pieces:
            side.append(replace(row, pieces=pieces))
    left, right = min((r.start for r in side), default=0), max((r.end for r in side), default=0)
    return [replace(row, left=left, right=right) for row in side]


def _are_columns(sides: Sequence[Sequence[Row]]) -> bool:
    """Both look like text; beside a picture or a listing one is enough."""
    return all(sides) and (
        all(_looks_like_text(side) for side in sides)
        or any(_looks_like_text(side, PROSE_LINES, PROSE_FILLED, PROSE_LETTERS) for side in sides)
    )


def _looks_like_text(
    side: Sequence[Row],
    lines: int = COLUMN_LINES,
    share: float = FILLED,
    least: int = COLUMN_LETTERS,
) -> bool:
    if len(side) < lines:
        return False
    filled = median(sum(piece.width for piece in row.pieces) for row in side)
    letters = median(len(row.text) for row in side)
    return filled >= share * (side[0].right - side[0].left) and letters >= least


def _gutters(rows: Sequence[Row]) -> list[float]:
    """Where columns may part: at the gaps that most rows have, and where the fewest cross."""
    gaps = Counter(
        round((left.right + right.left) / 2 / GUTTER) * GUTTER
        for row in rows
        for left, right in pairwise(row.pieces)
        if right.left - left.right >= GUTTER
    )
    common = [gap for gap, _ in gaps.most_common(MAX_GUTTERS)]
    least = _least_crossed(rows)
    return common if least is None else [*common, least]


def _least_crossed(rows: Sequence[Row]) -> float | None:
    """The middle of the widest stretch that the fewest rows cross, away from the edges."""
    left, right = min(row.start for row in rows), max(row.end for row in rows)
    width = int(right - left) + 1
    if not 80 < width < 20_000:
        return None
    crossed = [0] * (width + 2)
    for row in rows:
        for piece in row.pieces:
            crossed[max(0, int(piece.left - left))] += 1
            crossed[min(width + 1, int(piece.right - left) + 1)] -= 1
    for x in range(1, len(crossed)):
        crossed[x] += crossed[x - 1]
    inner = range(width // 6, width - width // 6)
    fewest = min(crossed[x] for x in inner)
    best, run = (0, 0), 0
    for x in inner:
        run = run + 1 if crossed[x] == fewest else 0
        best = max(best, (run, x))
    length, last = best
    return left + last - length / 2 + 0.5 if length >= GUTTER else None


# Of a page's height, counted from its edge.
MARGIN = 0.14
LINES_AT_EDGE = 3
MIN_PAGES = 3
OFTEN = 0.6
# In sizes of a letter: lines of text are nearer to each other.
APART = 1.7
# A heading at the top of a page is larger than the text; a running head is not.
LARGEST = 1.15
PAGE_NUMBER = re.compile(
    r"[-–—|\[(\s]*(?:(?:page|p\.|seite|s\.)\s*)?(?:\d{1,5}|[ivxlc]{1,8})"
    r"(?:\s*(?:/|of|von|de)\s*\d{1,5})?[-–—|\])\s]*",
    re.IGNORECASE,
)
NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b")


def without_margins(
    pages: Sequence[list[Row]], heights: Sequence[float], body_size: float
) -> list[list[Row]]:
    """The pages without what is printed on each of them."""
    if len(pages) < 2:
        return [list(rows) for rows in pages]
    edges = [
        [
            _edge(rows, (1 - MARGIN) * height, math.inf, body_size),
            _edge(rows[::-1], -math.inf, MARGIN * height, body_size),
        ]
        for rows, height in zip(pages, heights, strict=True)
    ]
    seen: Counter[tuple[str, int]] = Counter()
    taken: Counter[int] = Counter()
    for sides in edges:
        rows = [row for side in sides for row in side]
        seen.update({(_pattern(row), _height(row)) for row in rows})
        taken.update({_height(row) for row in rows})
    dropped = {
        id(row)
        for sides in edges
        for side in sides
        for row in _margin(side, seen, taken, len(pages))
    }
    return [[row for row in rows if id(row) not in dropped] for rows in pages]


def _edge(rows: Sequence[Row], low: float, high: float, body_size: float) -> list[Row]:
    """The outermost rows of a page, from the edge inwards: the text keeps its distance from them,
    but for the number of the page."""
    found: list[Row] = []
    for index, row in enumerate(rows[:LINES_AT_EDGE]):
        if not low < row.y < high or row.size > LARGEST * body_size:
            break
        found.append(row)
        after = rows[index + 1] if index + 1 < len(rows) else None
        if after is None or abs(after.y - row.y) > APART * row.size:
            return found
    return [row for row in found[:1] if PAGE_NUMBER.fullmatch(row.text)]


def _margin(
    side: Sequence[Row], seen: Counter[tuple[str, int]], taken: Counter[int], pages: int
) -> list[Row]:
    """What repeats, from the edge inwards, until something does not."""
    found: list[Row] = []
    for row in side:
        near = [_height(row) + shift for shift in (-1, 0, 1)]
        times = sum(seen[(_pattern(row), height)] for height in near)
        at_height = sum(taken[height] for height in near)
        if PAGE_NUMBER.fullmatch(row.text):
            times = at_height
        # Left and right pages have heads of their own, which in a short text are seen twice.
        often = times >= MIN_PAGES or (times == 2 and at_height >= OFTEN * pages)
        if not often:
            break
        found.append(row)
    return found


def _height(row: Row) -> int:
    return round(row.y / 2)


def _pattern(row: Row) -> str:
    return NUMBERS.sub("#", " ".join(row.text.lower().split()))
