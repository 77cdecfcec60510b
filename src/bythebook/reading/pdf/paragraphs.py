"""Rows of a PDF in reading order as Markdown: paragraphs, lists, code, tables, headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bythebook.reading.pdf.headings import LEADERS, Heading
from bythebook.reading.pdf.hyphens import Vocabulary
from bythebook.reading.pdf.rows import Row
from bythebook.reading.pdf.tables import table_at
from bythebook.reading.readers.writer import Writer

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

    def __init__(self, writer: Writer, vocabulary: Vocabulary, rows: Sequence[Row]) -> None:
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
