"""Which rows of a PDF are headings: its outline says so, else the size of the letters."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bythebook.reading.readers.pdf.rows import Row

LARGER = 1.12
BODY_SHARE = 0.2
DEEPEST = 6
MAX_LETTERS = 200
MAX_ROWS = 3
NUMBERED = re.compile(r"(?:chapter\s+|kapitel\s+)?(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+\S", re.I)
PREFIX = re.compile(r"(?:chapter|kapitel|part|section|appendix)?[\divxlc.]{0,8}")
# The dots of a printed table of contents.
LEADERS = re.compile(
    r"(?:(?<![\s.])|(?<=\.)(?=\s\s))\s*+(?:\.\s?+){4,}+\s*+(?=\d{1,5}$|[ivxlc]{1,8}$)"
)
NOT_A_TITLE = re.compile(
    r"microsoft (?:word|powerpoint)|untitled|unbenannt|"
    r".*\.(?:docx?|tex|dvi|pdf|indd|qxd|pptx?|md|html?|odt)$|(?=\S*?(?:\d{3}|[_:/\\]))\S++$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class OutlineEntry:
    """A line of the outline: depth from 0, the page, and the height on it if known."""

    title: str
    depth: int
    page: int
    y: float | None


@dataclass(frozen=True)
class Heading:
    """Takes the place of `rows` rows; of none where the outline names what is not printed. One
    without text only leaves them out."""

    level: int
    text: str
    rows: int


def body_size(rows: Sequence[Row]) -> float:
    """The largest size that many letters have: long notes may outnumber the text."""
    sizes: Counter[float] = Counter()
    for row in rows:
        if not row.mono:
            sizes[round(row.size * 2) / 2] += len(row.text)
    many = BODY_SHARE * sum(sizes.values())
    return max((size for size, count in sizes.items() if count >= many), default=10.0)


def find_title(metadata: str, rows: Sequence[Row], size: float) -> str:
    """What the file says it is called, else the one largest line of its first page."""
    metadata = " ".join(metadata.split())
    if metadata and len(metadata) <= MAX_LETTERS and not NOT_A_TITLE.match(metadata):
        return metadata
    if not rows:
        return ""
    first = [row for row in rows if row.page == rows[0].page]
    largest = max(row.size for row in first)
    if largest < LARGER * size or any(row.size >= largest for row in rows[len(first) :]):
        return ""
    return " ".join(row.text for row in first if row.size == largest)[:MAX_LETTERS]


def still_printed(
    outline: Sequence[OutlineEntry], rows: Sequence[Row], left_out: Sequence[Row]
) -> list[OutlineEntry]:
    """The outline without the names of what was left out, such as the contents."""
    gone = {row.page for row in left_out} - {row.page for row in rows}
    names = {(row.page, _plain(row.text)) for row in left_out}
    return [
        entry
        for entry in outline
        if entry.page not in gone and (entry.page, _plain(entry.title)) not in names
    ]


def find_headings(
    rows: Sequence[Row], outline: Sequence[OutlineEntry], size: float, title: str
) -> dict[int, list[Heading]]:
    """Headings by the index of the row they stand at. Level 1 is the title's."""
    found: dict[int, list[Heading]] = defaultdict(list)
    taken: set[int] = set()
    _leave_out_title(rows, title, found, taken)
    deepest = _from_outline(rows, outline, found, taken)
    _from_letters(rows, size, found, taken, deepest)
    return found


def _leave_out_title(
    rows: Sequence[Row], title: str, found: dict[int, list[Heading]], taken: set[int]
) -> None:
    """The title stands above everything already."""
    for index, row in enumerate(rows):
        if row.page != rows[0].page or taken or not title:
            return
        for count in range(1, MAX_ROWS + 1):
            text = " ".join(below.text for below in rows[index : index + count])
            if _plain(text) == _plain(title):
                found[index].append(Heading(1, "", count))
                taken.update(range(index, index + count))
                break


def _from_outline(
    rows: Sequence[Row],
    outline: Sequence[OutlineEntry],
    found: dict[int, list[Heading]],
    taken: set[int],
) -> int:
    pages: dict[int, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        pages[row.page].append(index)
    deepest = 1
    for entry in outline:
        level = min(entry.depth + 2, DEEPEST)
        deepest = max(deepest, level)
        match = _printed(rows, pages.get(entry.page, []), entry, taken)
        if match:
            index, count = match
            text = " ".join(row.text for row in rows[index : index + count])
            found[index].append(Heading(level, text, count))
            taken.update(range(index, index + count))
            continue
        at = _where(rows, pages, entry)
        if at is not None:
            found[at].insert(0, Heading(level, entry.title, 0))
    return deepest


def _printed(
    rows: Sequence[Row], page: Sequence[int], entry: OutlineEntry, taken: set[int]
) -> tuple[int, int] | None:
    """The rows in which the outline's words are printed, as near to the named height as can be."""
    wanted = _plain(entry.title)
    best: tuple[float, int, int] | None = None
    for index in page:
        for count in range(1, MAX_ROWS + 1):
            together = range(index, index + count)
            if together[-1] > page[-1] or taken.intersection(together):
                break
            text = _plain(" ".join(rows[at].text for at in together))
            if not _same_words(text, wanted):
                continue
            far = 0.0 if entry.y is None else abs(rows[index].y - entry.y)
            best = min(best or (far, index, count), (far, index, count))
            break
    return best[1:] if best else None


def _same_words(text: str, wanted: str) -> bool:
    if not text or not wanted:
        return False
    if text == wanted:
        return True
    longer, shorter = (text, wanted) if len(text) > len(wanted) else (wanted, text)
    rest = longer[: -len(shorter)]
    return len(shorter) > 2 and longer.endswith(shorter) and bool(PREFIX.fullmatch(rest))


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum() or letter == ".").strip(
        "."
    )


def _where(rows: Sequence[Row], pages: dict[int, list[int]], entry: OutlineEntry) -> int | None:
    """The first row at or below the named height, else the first one after the page began."""
    for index in pages.get(entry.page, []):
        if entry.y is None or rows[index].y <= entry.y:
            return index
    return next((index for index, row in enumerate(rows) if row.page > entry.page), None)


def _from_letters(
    rows: Sequence[Row],
    size: float,
    found: dict[int, list[Heading]],
    taken: set[int],
    deepest: int,
) -> None:
    large = [index for index, row in enumerate(rows) if index not in taken and _is_large(row, size)]
    # What an outline leaves out is below all that it names.
    sizes = sorted({_rounded(rows[at]) for at in large}, reverse=True)
    ranks = {rounded: rank if deepest == 1 else 0 for rank, rounded in enumerate(sizes)}
    for index in large:
        if index in taken:
            continue
        count = 1
        while (
            index + count in large
            and count < MAX_ROWS
            and _rounded(rows[index]) == _rounded(rows[index + count])
            and 0 < rows[index + count - 1].y - rows[index + count].y < 1.7 * rows[index].size
        ):
            count += 1
        text = " ".join(row.text for row in rows[index : index + count])
        level = min(deepest + 1 + ranks[_rounded(rows[index])], DEEPEST)
        found[index].append(Heading(level, text, count))
        taken.update(range(index, index + count))
    last = min(deepest + 1 + len(set(ranks.values())), DEEPEST)
    for index in range(len(rows)):
        if index not in taken and _is_bold_heading(rows, index):
            number = NUMBERED.match(rows[index].text)
            level = last if not number else min(2 + number[1].count("."), DEEPEST)
            found[index].append(Heading(max(level, 2), rows[index].text, 1))
            taken.add(index)


def _rounded(row: Row) -> float:
    return round(row.size)


def _is_large(row: Row, size: float) -> bool:
    letters = sum(letter.isalpha() for letter in row.text)
    if LEADERS.search(row.text):
        return False
    return row.size >= LARGER * size and letters > 1 and len(row.text) <= MAX_LETTERS


def _is_bold_heading(rows: Sequence[Row], index: int) -> bool:
    """A bold line on its own, with more space above than below a line of text."""
    row = rows[index]
    if not row.bold or row.mono or len(row.pieces) > 1 or len(row.text) > 80:
        return False
    if row.text.endswith((".", ",", ";", ":")) or sum(c.isalpha() for c in row.text) < 3:
        return False
    after = rows[index + 1] if index + 1 < len(rows) else None
    if (
        after is None
        or after.bold
        or after.page != row.page
        or row.end > row.left + 0.85 * (row.right - row.left)
    ):
        return False
    before = rows[index - 1] if index else None
    same = before and (before.page, before.column) == (row.page, row.column)
    return not (before and same and before.y - row.y < 1.35 * row.size)
