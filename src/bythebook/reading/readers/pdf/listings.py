"""Printed contents and the index at a book's end, which are left out."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bythebook.reading.readers.pdf.headings import LEADERS
from bythebook.reading.readers.pdf.rows import Row
from bythebook.reading.readers.pdf.text_runs import TextRun

# Contents: so many lines at least that end in a page number, with so many others between two of
# them (a title over several lines, the name of a part).
MIN_LINES = 4
MOST_BETWEEN = 3
HALF = 0.5
# Page numbers rise; a list of figures behind the contents begins anew.
RISING = 0.9
# Without dots, titles that are printed again on the page that their line names.
CONFIRMED = 0.4
MIN_CONFIRMED = 3
LONGEST_HEADING = 40
# An index: so many lines on a page that end in page numbers, so many of its letters in them, and so
# many of them in the order of the alphabet.
MIN_TERMS = 10
TERMS = 0.4
ORDERED = 0.7
# Printed numbers and pages of the file differ by what stands before page 1.
SHIFTS = range(-2, 60)
MAX_TERMS_TRIED = 60

PAGE_NUMBER = re.compile(r"(?<!\w)(?:\d{1,4}|[ivxlc]{1,8})$")
BEFORE_NUMBER = " .…·_"
NUMBERING = re.compile(r"^\W*(?:[^\W\d]+\s+)?\d[\d.]*[.:]?\s+")
LOCATOR = re.compile(r"(?P<comma>,\s*|\s|^)(?P<number>\d{1,4})(?:\s?[-–—]\s?\d{1,4})?[a-z]{0,2}$")
LONGEST_TERM = 45


@dataclass(frozen=True)
class _Line:
    """A row that may be a line of contents; `number` is 0 where it is a Roman one."""

    index: int
    title: str
    number: int
    dotted: bool


@dataclass(frozen=True)
class _Term:
    """What stands before page numbers, and the last of them; how long all of it is, and whether a
    comma or dots stand between."""

    name: str
    number: int
    length: int
    marked: bool


def without_listings(pages: Sequence[list[Row]]) -> tuple[list[list[Row]], list[Row]]:
    """The pages without them, and what was left out."""
    rows = [row for page in pages for row in page]
    dropped = {id(rows[index]) for index in _contents(rows)}
    dropped |= {id(row) for page in _index_pages(pages) for row in pages[page]}
    left = [[row for row in page if id(row) not in dropped] for page in pages]
    return left, [row for row in rows if id(row) in dropped]


def _contents(rows: Sequence[Row]) -> set[int]:
    found: set[int] = set()
    printed: dict[str, set[int]] | None = None
    for run in _runs(rows):
        lines = len(run) >= MIN_LINES and _is_rising(run)
        if not lines or len(run) < HALF * (run[-1].index - run[0].index + 1):
            continue
        if sum(line.dotted for line in run) < HALF * len(run):
            printed = _pages_of_texts(rows) if printed is None else printed
            if not _is_confirmed(run, rows, printed):
                continue
        found.update(range(_beginning(rows, run), run[-1].index + 1))
    return found


def _runs(rows: Sequence[Row]) -> Iterator[list[_Line]]:
    run: list[_Line] = []
    for index, row in enumerate(rows):
        line = _line(index, row)
        if line is None:
            continue
        if run and index - run[-1].index > MOST_BETWEEN + 1:
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _line(index: int, row: Row) -> _Line | None:
    found = PAGE_NUMBER.search(row.text)
    if found is None or row.text[found.start() - 1] not in BEFORE_NUMBER:
        return None
    title = row.text[: found.start()].rstrip(BEFORE_NUMBER)
    if sum(letter.isalpha() for letter in title) < 2:
        return None
    number = int(found[0]) if found[0].isdecimal() else 0
    return _Line(index, title, number, LEADERS.search(row.text) is not None)


def _is_rising(run: Sequence[_Line]) -> bool:
    steps = [above.number <= line.number for above, line in pairwise(run)]
    return sum(steps) >= RISING * len(steps) and run[0].number < max(line.number for line in run)


def _pages_of_texts(rows: Sequence[Row]) -> dict[str, set[int]]:
    printed: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        printed[_name(row.text)].add(row.page)
    return printed


def _name(text: str) -> str:
    """A title without its number, which may stand on another line."""
    return "".join(letter for letter in NUMBERING.sub("", text).lower() if letter.isalnum())


def _is_confirmed(run: Sequence[_Line], rows: Sequence[Row], printed: dict[str, set[int]]) -> bool:
    shifts: Counter[int] = Counter()
    for line in run:
        own = rows[line.index].page
        later = (page for page in printed.get(_name(line.title), ()) if page > own)
        shifts.update({page - line.number for page in later if line.number})
    most = max(shifts.values(), default=0)
    return most >= max(MIN_CONFIRMED, CONFIRMED * len(run))


def _beginning(rows: Sequence[Row], run: Sequence[_Line]) -> int:
    """Where the heading of a list stands; the title of the whole book, on its first page, stays."""
    first = run[0].index
    above = rows[first - 1] if first else None
    if above is None or above.page != rows[first].page or len(above.text) > LONGEST_HEADING:
        return first
    beside = [
        row
        for index, row in enumerate(rows)
        if row.page == above.page and not first - 1 <= index <= run[-1].index
    ]
    is_title = above.page == rows[0].page and all(row.size < above.size for row in beside)
    return first if beside and is_title else first - 1


def _index_pages(pages: Sequence[list[Row]]) -> set[int]:
    """Pages of an index; the last of them may be almost empty."""
    found: set[int] = set()
    for number in range((len(pages) + 1) // 2, len(pages)):
        pieces = [piece for row in pages[number] for piece in row.pieces]
        terms = [term for piece in pieces if (term := _term(piece, len(pages)))]
        letters = sum(term.length for term in terms)
        if not terms or letters < TERMS * sum(len(piece.text) for piece in pieces):
            continue
        marked = sum(term.marked for term in terms)
        if number - 1 in found or (
            len(terms) >= MIN_TERMS
            and _is_alphabetical(pieces)
            and (marked >= HALF * len(terms) or _are_mentioned(pages[:number], terms))
        ):
            found.add(number)
    return found


def _term(piece: TextRun, pages: int) -> _Term | None:
    """A term that ends in page numbers; a reference has a long title before them."""
    found = LOCATOR.search(piece.text)
    if found is None or int(found["number"]) > pages - SHIFTS.start:
        return None
    name = piece.text[: found.start()].rstrip(f"{BEFORE_NUMBER},-–—0123456789")
    if len(name) > LONGEST_TERM:
        return None
    marked = found["comma"].startswith(",") or LEADERS.search(piece.text) is not None
    return _Term(name, int(found["number"]), len(piece.text), marked)


def _is_alphabetical(pieces: Sequence[TextRun]) -> bool:
    """Among those that begin at the same distance from the edge, from the top down."""
    columns: dict[int, list[TextRun]] = defaultdict(list)
    for piece in pieces:
        if piece.text[0].isalpha():
            columns[round(piece.left / 4)].append(piece)
    steps = [
        above.text.casefold() <= piece.text.casefold()
        for column in columns.values()
        for above, piece in pairwise(sorted(column, key=lambda piece: -piece.y))
    ]
    return len(steps) >= MIN_TERMS // 2 and sum(steps) >= ORDERED * len(steps)


def _are_mentioned(pages: Sequence[list[Row]], terms: Sequence[_Term]) -> bool:
    """Whether the terms stand on the pages that are named behind them."""
    texts = [" ".join(row.text for row in page).casefold() for page in pages]
    shifts: Counter[int] = Counter()
    named = [term for term in terms if term.name][:MAX_TERMS_TRIED]
    for term in named:
        name = term.name.partition(",")[0].casefold()
        on = [page for page, text in enumerate(texts, 1) if name in text]
        if len(on) <= HALF * len(texts):  # what stands everywhere says nothing
            shifts.update(page - term.number for page in on if page - term.number in SHIFTS)
    return max(shifts.values(), default=0) >= max(MIN_CONFIRMED, HALF * len(named))
