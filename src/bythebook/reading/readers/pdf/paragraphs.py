"""Rows of a PDF as Markdown: paragraphs, lists, code, tables, headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from bythebook.reading.readers.markdown_writer import MarkdownWriter
from bythebook.reading.readers.pdf.headings import LEADERS, Heading
from bythebook.reading.readers.pdf.rows import Row
from bythebook.reading.readers.pdf.text_runs import TextRun

WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
# Read from the end of a line: from its beginning, each letter of a long word would be tried.
DAEH = re.compile(r"(?:[^\W\d_]+-)*[^\W\d_]{2,}")
HEAD = re.compile(r"(?P<tail>[^\W\d_]+)")


class Vocabulary:
    """The words of a document as they stand within lines."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.words: set[str] = set()
        for line in lines:
            found = [word.lower() for word in WORD.findall(line)]
            if _broken_word(line):
                found = found[:-1]
            self.words.update(found)
            self.words.update(part for word in found for part in word.split("-"))

    def join(self, left: str, right: str) -> str:
        """Two lines as one text. A hyphen goes when the document knows the whole word, or does not
        know both halves as words of their own."""
        end = _broken_word(left)
        start = HEAD.match(right)
        if not end or not start:
            broken = left.endswith(("-", "‐")) and right[:1].islower() and left[-2:-1].isalnum()
            return left + right if broken else f"{left} {right}"
        head, tail = end.lower(), start["tail"].lower()
        if head + tail in self.words:
            return left[:-1] + right
        both = head.rpartition("-")[2] in self.words and tail in self.words
        if both or not start["tail"].islower() or f"{head}-{tail}" in self.words:
            return left + right
        return left[:-1] + right


def _broken_word(line: str) -> str:
    """What stands before the hyphen that a line ends with."""
    if not line.endswith(("-", "‐")):
        return ""
    found = DAEH.match(line[line.rfind(" ") + 1 : -1][::-1])
    return found[0][::-1] if found else ""


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


def _overlap(piece: TextRun, column: Interval) -> bool:
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


BULLET = re.compile(r"^[•◦▪▫‣⁃●○■□∙·–—*-]\s+(?=\S)")
NUMBER = re.compile(r"^\(?(\d{1,3}|[a-zA-Z])[.)]\s+(?=\S)")
SENTENCE_END = (".", "!", "?", ":", ";", "。", "”", '"', "»")
MAX_CODE_INDENT = 60


@dataclass
class _Paragraph:
    rows: list[Row]
    text: str
    page_marks: list[tuple[int, int]]


class Flow:
    """Writes rows one after the other."""

    def __init__(self, writer: MarkdownWriter, vocabulary: Vocabulary, rows: Sequence[Row]) -> None:
        self.writer = writer
        self.vocabulary = vocabulary
        self.rows = rows
        self.spacing = _spacing(rows)
        self.open: _Paragraph | None = None
        self.page = 0

    def write(self, headings: dict[int, list[Heading]]) -> None:
        index = 0
        while index < len(self.rows):
            used = 0
            for heading in headings.get(index, []):
                self._close()
                self._turn_to(self.rows[index].page)
                self.writer.heading(heading.level, heading.text)  # nothing where it has no text
                used = max(used, heading.rows)
            index += used or self._next(index)
        self._close()

    def _next(self, index: int) -> int:
        """Write what begins here; how many rows it takes."""
        row = self.rows[index]
        if LEADERS.search(row.text):
            self._close()
            self._turn_to(row.page)
            self.writer.item(0, "-", LEADERS.sub(" … ", row.text))
            return 1
        if row.mono:
            return self._code(index)
        table = table_at(self.rows, index)
        if table:
            self._close()
            self._turn_to(row.page)
            end, cells = table
            self.writer.table(cells)
            return end - index
        if self.open and self._continues(self.open, row):
            self._add(self.open, row)
        else:
            self._close()
            self._turn_to(row.page)
            self.open = _Paragraph([row], row.text, [])
        return 1

    def _turn_to(self, page: int) -> None:
        if page != self.page:
            self.page = page
            self.writer.mark(f"#page={page}", page)

    def _code(self, index: int) -> int:
        self._close()
        first = self.rows[index]
        self._turn_to(first.page)
        end = index + 1
        while end < len(self.rows) and _goes_on(first, self.rows[end]):
            end += 1
        block = self.rows[index:end]
        left = min(row.start for row in block)
        lines: list[str] = []
        above: Row | None = None
        for row in block:
            letter = max(1.0, row.pieces[0].width / max(1, len(row.pieces[0].text)))
            if above and above.y - row.y > 1.9 * row.size:
                lines.append("")
            line, position = "", left
            for piece in row.pieces:
                blanks = round((piece.left - position) / letter)
                line += " " * min(max(blanks, 1 if line else 0), MAX_CODE_INDENT) + piece.text
                position = piece.right
            lines.append(line)
            above = row
        self.writer.code("\n".join(lines))
        return end - index

    def _continues(self, paragraph: _Paragraph, row: Row) -> bool:
        above = paragraph.rows[-1]
        if BULLET.match(row.text) or NUMBER.match(row.text):
            return False
        if abs(above.size - row.size) > 0.18 * max(above.size, row.size):
            return False
        if (above.page, above.column) != (row.page, row.column) or row.y >= above.y:
            hyphen = above.text.endswith(("-", "‐"))
            unfinished = not above.text.endswith(SENTENCE_END)
            return unfinished and (hyphen or row.text[:1].islower())
        if above.y - row.y > 1.35 * self.spacing.get(round(row.size), 1.25 * row.size):
            return False
        first = paragraph.rows[0]
        width = row.right - row.left
        if BULLET.match(first.text) or NUMBER.match(first.text):
            hanging = row.start > first.start + 0.4 * row.size
            return hanging or above.end > row.right - 0.15 * width
        indented = (
            row.start > above.start + 0.7 * row.size and above.start < row.left + 3 * row.size
        )
        if indented and above.end <= row.right and above.start <= row.left + 0.4 * row.size:
            return False
        free = row.right - above.end
        if above.text.endswith(SENTENCE_END):
            return free < 0.25 * width
        return free < 0.5 * width

    def _add(self, paragraph: _Paragraph, row: Row) -> None:
        joined = self.vocabulary.join(paragraph.text, row.text)
        if row.page != paragraph.rows[-1].page:
            paragraph.page_marks.append((len(joined) - len(row.text), row.page))
        paragraph.text = joined
        paragraph.rows.append(row)

    def _close(self) -> None:
        if self.open is None:
            return
        paragraph, self.open = self.open, None
        text, cut, mark = paragraph.text, 0, ""
        bullet = BULLET.match(text)
        if bullet:
            text, cut, mark = text[bullet.end() :], bullet.end(), "-"
        shift = len(mark) + 1 - cut if mark else 0
        marks = [(at + shift, page) for at, page in paragraph.page_marks]
        if mark:
            self.writer.item(0, mark, text, marks=[(at, f"#page={p}", p) for at, p in marks])
        else:
            self.writer.paragraph(text, marks=[(at, f"#page={p}", p) for at, p in marks])
        self.page = paragraph.rows[-1].page


def _goes_on(code: Row, row: Row) -> bool:
    same = (row.page, row.column) == (code.page, code.column)
    return row.mono and same and not LEADERS.search(row.text)


def _spacing(rows: Sequence[Row]) -> dict[int, float]:
    """The usual distance from line to line, for each size of letters."""
    distances: dict[int, Counter[float]] = {}
    for above, row in pairwise(rows):
        distance = above.y - row.y
        near = 0.8 * row.size < distance < 2.2 * row.size
        if near and (above.page, above.column) == (row.page, row.column):
            distances.setdefault(round(row.size), Counter())[round(distance, 1)] += 1
    return {size: counts.most_common(1)[0][0] for size, counts in distances.items()}
