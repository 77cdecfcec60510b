"""Running heads and feet: lines at the same height on many pages, and page numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from bythebook.reading.pdf.rows import Row

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
