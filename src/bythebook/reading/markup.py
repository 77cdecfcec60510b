"""Which parts of a file are markup that a reader of the book never sees.

The book's own text is what is cited, so nothing is rewritten: a scan finds the ranges to leave out
(front matter, MDX imports and exports, tags, comments, template macros), and everything else keeps
its place. Code and maths are never looked into.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bythebook.reading.directives import (
    Range,
    colon_fences,
    find_fences,
    hidden_in_code,
    role,
    shortcode,
)
from bythebook.reading.source import BREAK, LINE_END, LINE_START, Source
from bythebook.reading.tags import TagReader

# An anchor behind a heading's words, the line that gives a quotation another colour, and MyST's
# anchors.
HEADING_ANCHOR = re.compile(
    rf"{LINE_START}#{{1,6}}[ \t][^\r\n]*?(?P<mark>\[\[[\w-]+\]\])[ \t]*{LINE_END}"
)
ALERT = re.compile(
    rf"{LINE_START}(?P<mark>[ \t]*>[ \t]*\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*)"
    + LINE_END
)
TARGET = re.compile(rf"{LINE_START}(?P<mark>\([\w:.+-]+\)=[ \t]*){LINE_END}")
IMPORT = re.compile(
    r"import\s+(?:[\w*{$][^;'\"]{0,500}?\sfrom\s+)?['\"][^'\"\r\n]+['\"];?[ \t]*" + LINE_END
)
EXPORT = re.compile(r"export\s+(?:default|const|let|var|function|async|class)\b")
STRING_EXPRESSION = re.compile(r"\{\s*(['\"`])((?:(?!\1)[^\\{}\r\n])*)\1\s*\}")
MACRO = re.compile(
    r"\{\{-?\s*(?P<name>[A-Za-z_]\w*)\s*+(?P<call>\((?P<arguments>(?:[^()\"'{}]|\"[^\"\r\n]*\"|'[^'\r\n]*')*)\))?\s*-?\}\}"
)
MACRO_STRING = re.compile(r"\"([^\"\r\n]*)\"|'([^'\r\n]*)'")
BADGE = re.compile(r"_?inline$", re.IGNORECASE)
INLINE_MATH = re.compile(r"\$(?![\s$])[^$\r\n]{1,500}?(?<![\s\\])\$(?!\d)")
AUTOLINK = re.compile(r"<(?:[a-zA-Z][a-zA-Z0-9+.-]{1,31}:|[^\s<>@]+@)[^\s<>]*>")
PARAGRAPH_END = re.compile(rf"{BREAK}[ \t]*{BREAK}")
TICKS = re.compile("`+")
INTERESTING = re.compile(rf"[\\`<{{$]|{LINE_START}(?:import|export)\s")
REST_IS_BLANK = re.compile(rf"[ \t]*+{LINE_END}")
NOT_A_LINE_BREAK = re.compile(r"[^\r\n]")
BLANKED_LINE = re.compile(rf"{LINE_START}[ \t]*\u00a0[ \t\u00a0]*{LINE_END}")
INLINE_ELEMENTS = frozenset(
    "a abbr b bdi bdo cite code data del dfn em i ins kbd mark q s samp small span strong sub sup "
    "time u var wbr".split()
)
HIDDEN_ELEMENTS = frozenset({"script", "style", "svg", "head"})


@dataclass(frozen=True)
class Markup:
    """`removed` are sorted, disjoint ranges left out; where one of them separated words (a table
    cell, a tab), its end is in `separators`; `whole` are ranges never to be cut through."""

    removed: tuple[Range, ...]
    separators: frozenset[int]
    whole: tuple[Range, ...]


def find_markup(
    source: Source, body_start: int, mdx: bool, indented_code: Sequence[Range] = ()
) -> Markup:
    """Scan a file once; `body_start` is where its front matter ends."""
    scan = _Scan(source.text, mdx)
    if body_start:
        scan.removed.append((0, body_start))
    elif source.text.startswith("\ufeff"):
        scan.removed.append((0, 1))
    position = body_start
    code, marks = find_fences(source.text, body_start, mdx)
    for start, end in sorted([*code, *indented_code, *marks]):
        if start < position:
            continue
        scan.prose(position, start)
        if (start, end) in marks:
            scan.removed.append((start, end))
        else:
            scan.removed += hidden_in_code(source.text, start, end)
        position = end
    scan.prose(position, len(source.text))
    removed = merge(scan.removed)
    removed = merge([*removed, *_emptied_lines(source, removed)])
    separating = merge(scan.separating)
    separators = frozenset(end for start, end in removed if _any_within(separating, start, end))
    return Markup(tuple(removed), separators, tuple(merge(scan.tables)))


def mask(text: str, removed: Sequence[Range]) -> str:
    """The text with what is left out turned to blanks, so that every offset and line stays.

    No-break spaces, because plain ones at the start of a line would read as indented code.
    """
    pieces: list[str] = []
    position = 0
    for start, end in removed:
        pieces += [text[position:start], NOT_A_LINE_BREAK.sub("\u00a0", text[start:end])]
        position = end
    masked = "".join([*pieces, text[position:]])
    if text.startswith("\ufeff"):
        masked = " " + masked[1:]
    return BLANKED_LINE.sub(lambda line: " " * len(line[0]), masked)


def _any_within(ranges: list[Range], start: int, end: int) -> bool:
    index = bisect_left(ranges, (start, start))
    return index < len(ranges) and ranges[index][1] <= end


def subtract(start: int, end: int, removed: Sequence[Range]) -> list[Range]:
    """What remains of a range once sorted, disjoint ranges are taken out of it."""
    kept: list[Range] = []
    index = max(bisect_left(removed, (start, start)) - 1, 0)
    while index < len(removed) and removed[index][0] < end:
        cut_start, cut_end = removed[index]
        if cut_start > start:
            kept.append((start, cut_start))
        start = max(start, cut_end)
        index += 1
    if start < end:
        kept.append((start, end))
    return kept


def merge(ranges: list[Range]) -> list[Range]:
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _emptied_lines(source: Source, removed: list[Range]) -> list[Range]:
    """Lines that hold nothing but blanks once the markup is out go with it."""
    emptied: list[Range] = []
    line = -1
    for start, end in removed:
        first = max(source.line_of_offset(start), line + 1)
        for line in range(first, source.line_of_offset(end - 1) + 1):
            line_start, line_end = source.offset_of_line(line), source.offset_of_line(line + 1)
            kept = subtract(line_start, line_end, removed)
            if not any(source.text[a:b].strip() for a, b in kept):
                emptied.append((line_start, line_end))
    return emptied


class _Scan:
    """Walks the prose between fences and collects what to leave out."""

    def __init__(self, text: str, mdx: bool) -> None:
        self.text = text
        self.mdx = mdx
        self.colon_fences = ":::{" in text
        self.removed: list[Range] = []
        self.separating: list[Range] = []
        self.tables: list[Range] = []
        self.open_table: int | None = None
        self.tags = TagReader(text)
        self.absent: set[tuple[str, int]] = set()
        self.paragraph_end = -1
        self.ticks: defaultdict[int, list[int]] = defaultdict(list)

    def prose(self, position: int, end: int) -> None:
        if self.colon_fences:
            self.removed += colon_fences(self.text, position, end)
        for marks in (HEADING_ANCHOR, ALERT, TARGET):
            self.removed += [m.span("mark") for m in marks.finditer(self.text, position, end)]
        while found := INTERESTING.search(self.text, position, end):
            start = found.start()
            character = self.text[start]
            if character == "\\":
                position = start + 2
            elif character == "`":
                position = self._code(start, end)
            elif character == "$":
                position = self._maths(start, end)
            elif character == "<":
                position = self._angle(start, end)
            elif character == "{":
                position = self._brace(start, end)
            else:
                position = self._module_statement(start, end)

    def _code(self, start: int, end: int) -> int:
        """A code span ends in its paragraph at the next run of as many backticks."""
        if start >= self.paragraph_end:
            paragraph = PARAGRAPH_END.search(self.text, start)
            self.paragraph_end = paragraph.start() if paragraph else len(self.text)
            self.ticks.clear()
            for run in TICKS.finditer(self.text, start, self.paragraph_end):
                self.ticks[len(run[0])].append(run.start())
        opening = TICKS.match(self.text, start)
        assert opening
        length = opening.end() - start
        runs = self.ticks[length]
        index = bisect_left(runs, opening.end())
        found = index < len(runs) and runs[index] < end
        return runs[index] + length if found else opening.end()

    def _maths(self, start: int, end: int) -> int:
        if self.text.startswith("$$", start):
            closing = self.text.find("$$", start + 2, end)
            return closing + 2 if closing >= 0 else start + 2
        inline = INLINE_MATH.match(self.text, start, end)
        return inline.end() if inline else start + 1

    def _angle(self, start: int, end: int) -> int:
        if self.text.startswith("<!--", start):
            closing = self._find("-->", start + 4, end)
            return self._remove(start, closing + 3) if closing >= 0 else start + 1
        if link := AUTOLINK.match(self.text, start, end):
            return link.end()
        if self.mdx and self.text.startswith(("<>", "</>"), start):
            return self._remove(start, self.text.index(">", start) + 1)
        tag = self.tags.read(start, end)
        if tag is None:
            return start + 1
        name = tag.name.lower()
        if name in HIDDEN_ELEMENTS and not tag.closing and not tag.empty:
            closing = self._find(f"</{tag.name}", tag.end, end)
            closing_tag = self.tags.read(closing, end) if closing >= 0 else None
            if closing_tag and closing_tag.name == tag.name:
                return self._remove(start, closing_tag.end)
        if name == "table":
            self._table(tag.start, tag.end, tag.closing)
        if name not in INLINE_ELEMENTS:
            self.separating.append(
                (tag.start, tag.shown[0][0]) if tag.shown else (tag.start, tag.end)
            )
            self.separating += [(tag.shown[-1][1], tag.end)] if tag.shown else []
        position = tag.start
        for shown_start, shown_end in tag.shown:
            self._remove(position, shown_start)
            position = shown_end
        return self._remove(position, tag.end)

    def _table(self, start: int, end: int, closing: bool) -> None:
        if not closing and self.open_table is None:
            self.open_table = start
        elif closing and self.open_table is not None:
            self.tables.append((self.open_table, end))
            self.open_table = None

    def _brace(self, start: int, end: int) -> int:
        order = role(self.text, start, end) or shortcode(self.text, start, end)
        if order:
            self.removed += order[0]
            return order[1]
        if self.text.startswith("{{", start):
            return self._macro(start, end)
        if self.mdx:
            if self.text.startswith("{/*", start):
                closing = self._find("*/}", start + 3, end)
                return self._remove(start, closing + 3) if closing >= 0 else start + 1
            if string := STRING_EXPRESSION.match(self.text, start, end):
                self._remove(start, string.start(2))
                return self._remove(string.end(2), string.end())
        return start + 1

    def _macro(self, start: int, end: int) -> int:
        """`{{name("a", "b")}}` reads as its last string; alone on its line it is page furniture."""
        macro = MACRO.match(self.text, start, end)
        if not macro:
            return start + 2
        strings = list(MACRO_STRING.finditer(macro["arguments"] or ""))
        if (
            self._alone(start, macro.end())
            or (not macro["call"] and BADGE.search(macro["name"]))
            or (macro["call"] and not strings)
        ):
            return self._remove(start, macro.end())
        if not macro["call"]:
            return macro.end()
        shown = strings[-1] if strings[-1].end() - strings[-1].start() > 2 else strings[0]
        offset = macro.start("arguments")
        self._remove(start, offset + shown.start() + 1)
        return self._remove(offset + shown.end() - 1, macro.end())

    def _alone(self, start: int, end: int) -> bool:
        """Whether nothing but blanks stands before and after on the line."""
        while start > 0 and self.text[start - 1] in " \t\ufeff":
            start -= 1
        at_start = start == 0 or self.text[start - 1] in "\r\n"
        return at_start and REST_IS_BLANK.match(self.text, end) is not None

    def _module_statement(self, start: int, end: int) -> int:
        if statement := IMPORT.match(self.text, start, end):
            return self._remove(start, statement.end())
        if not self.mdx or not EXPORT.match(self.text, start, end):
            return start + 6
        return self._remove(start, self.tags.end_of_statement(start, end))

    def _find(self, closing: str, start: int, end: int) -> int:
        """Where it stands, or -1; what is not there is not looked for again."""
        if (closing, end) in self.absent:
            return -1
        found = self.text.find(closing, start, end)
        if found < 0:
            self.absent.add((closing, end))
        return found

    def _remove(self, start: int, end: int) -> int:
        self.removed.append((start, end))
        return end
