"""Cuts text: into sentences, a passage into quotable pieces, an answer into units to check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# A marker behind the full stop belongs to the sentence before it.
MARKERS = r"(?:[ \t]*+\[\d{1,3}+(?:\s*+,\s*+\d{1,3}+)*+\])*"
END = re.compile(
    rf"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*+{MARKERS}(?=\s|$)|[。！？]++[」』”）]*+{MARKERS}"
)
OPENING = re.compile(r"\s+[\"'“‘«(\[*_`]*(?P<first>\S?)", re.DOTALL)
ABBREVIATIONS = frozenset(
    """e.g. i.e. etc. cf. vs. al. approx. ca. resp. incl. no. nos. fig. figs. eq. eqs. sec. ch. vol.
    pp. p. ed. eds. mr. mrs. ms. dr. prof. st. jr. sr. inc. ltd. co. corp. dept. est. jan. feb. mar.
    apr. jun. jul. aug. sep. sept. oct. nov. dec. u.s. u.k. a.m. p.m. z.b. d.h. bzw. usw.""".split()
)
INITIAL = re.compile(r"^\W*[^\W\d_]\.$")
# A marker that brings the words it translates, not yet closed: `[1: "A node is …`
OPEN_QUOTE = re.compile(r"\[\d{1,3}+\s*+:")
LIST_NUMBER = re.compile(r"^\W*\d{1,3}\.$")


def split_sentences(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Offsets of the sentences of a stretch of prose, without the white space between them."""
    stop = len(text) if end is None else end
    found: list[tuple[int, int]] = []
    for boundary in [*_boundaries(text, start, stop), stop]:
        left, right = trimmed(text, start, boundary)
        if left < right:
            found.append((left, right))
        start = boundary
    return found


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _boundaries(text: str, start: int, end: int) -> Iterator[int]:
    for found in END.finditer(text, start, end):
        if found.end() < end and is_boundary(text, start, found.start(), found.end()):
            yield found.end()
            start = found.end()


def is_boundary(text: str, start: int, stop: int, after: int) -> bool:
    """Whether the sentence that began at `start` ends at the full stop at `stop`; what follows
    begins at `after`."""
    if text[stop] in "。！？":
        return True
    if _in_code(text, start, stop) or _in_quote(text, start, stop):
        return False
    following = OPENING.match(text, after)
    first = following["first"] if following else ""
    if "\n\n" in (following[0] if following else ""):
        return True
    if text[stop] in "!?":
        return not first.islower()  # “Really?” he asked.
    before = text[max(start, stop - 30) : stop + 1].split()
    word = before[-1].lower().lstrip("([*_\"'“‘")
    if word in ABBREVIATIONS:
        # "etc." may end a sentence, "e.g." can't.
        return word in {"etc.", "a.m.", "p.m.", "inc.", "ltd."} and first.isupper()
    if INITIAL.match(word) or (
        LIST_NUMBER.match(word) and not text[start:stop].strip(" \t\n.0123456789#*_>+-")
    ):
        return False
    return not first.islower()


def _in_code(text: str, start: int, stop: int) -> bool:
    return text.count("`", start, stop) % 2 == 1


def _in_quote(text: str, start: int, stop: int) -> bool:
    closed = max(text.rfind("]", start, stop), text.rfind("\n", start, stop - 1))
    return any(found.end() - 1 > closed for found in OPEN_QUOTE.finditer(text, start, stop))


PieceKind = Literal["sentence", "item", "code", "table", "row", "heading"]
BlockKind = Literal["prose", "list", "code", "table", "heading"]

LINE = re.compile(r"[^\n]*\n?")
ROW_LINE = re.compile(r"[^\n]+")
CELL_END = re.compile(r"(?<!\\)\|")
RULE_SIGNS = " |:-\t"
FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
ROW = re.compile(r"\s*\|.*\|\s*$")
ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
ADMONITION = re.compile(r"\s*(?::::|!!!|\?\?\?)")


@dataclass(frozen=True)
class Piece:
    """`text[start:end]`. Pieces of one `block` stand in one paragraph, list or table. `header` is
    the first row of a later row's table."""

    kind: PieceKind
    start: int
    end: int
    block: int
    header: tuple[int, int] | None = None


def pieces_of(text: str) -> list[Piece]:
    """Every piece of a passage in reading order; together they hold all its words."""
    found: list[Piece] = []
    for number, (kind, start, end) in enumerate(_blocks(text)):
        if kind == "prose":
            found += [Piece("sentence", a, b, number) for a, b in split_sentences(text, start, end)]
        elif kind == "list":
            items = _items(text, start, end)
            found += [Piece("item", *trimmed(text, a, b), number) for a, b in items]
        else:
            found.append(Piece(kind, *trimmed(text, start, end), number))
    return [piece for piece in found if piece.start < piece.end]


def units_of(text: str) -> list[Piece]:
    """Every piece of a passage in reading order, with the rows of a table in its place."""
    return [
        unit
        for piece in pieces_of(text)
        for unit in (rows_of(text, piece) if piece.kind == "table" else [piece])
    ]


def rows_of(text: str, table: Piece) -> list[Piece]:
    """A table's rows, without the rule below its head."""
    lines = ROW_LINE.finditer(text, table.start, table.end)
    spans = [line.span() for line in lines if line[0].strip(RULE_SIGNS)]
    return [
        Piece("row", *span, table.block, header=spans[0] if number else None)
        for number, span in enumerate(spans)
    ]


def cells_of(row: str) -> list[str]:
    """What stands in a table row; a pipe behind a backslash is text."""
    return [cell.strip() for cell in CELL_END.split(row.strip().strip("|"))]


def _blocks(text: str) -> Iterator[tuple[BlockKind, int, int]]:
    """Kind and range of each block, in order."""
    kind: BlockKind | None = None
    begin = at = 0
    fence = ""
    after_blank = True
    for found in LINE.finditer(text):
        line, at = found[0], found.start()
        if not line:
            break
        if fence:
            if line.strip(" \t>\r\n").startswith(fence) and not line.strip(" \t>\r\n`~"):
                yield "code", begin, found.end()
                kind, fence = None, ""
            continue
        opening = FENCE.match(line)
        now = _kind_of_line(line, kind, after_blank)
        after_blank = not line.strip()
        if kind and (opening or now != kind or now == "heading"):
            yield kind, begin, at
            kind = None
        if opening:
            fence, kind, begin = opening[1], "code", at
        elif now and kind is None:
            kind, begin = now, at
    if kind:
        yield kind, begin, len(text)


def _kind_of_line(line: str, before: BlockKind | None, after_blank: bool) -> BlockKind | None:
    if not line.strip():
        return "list" if before == "list" else None
    if HEADING.match(line):
        return "heading"
    if ROW.match(line):
        return "table"
    if ITEM.match(line):
        return "list"
    if ADMONITION.match(line):
        return None
    # A line directly below an item goes on with it, also where it is not indented.
    if before == "list" and (line[0] in " \t" or not after_blank):
        return "list"
    return "prose"


def _items(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Ranges of a list's items; what is indented below an item belongs to it."""
    begin = start
    indent: int | None = None
    for found in LINE.finditer(text, start, end):
        line = found[0]
        if not line:
            break
        marker = ITEM.match(line)
        depth = len(line) - len(line.lstrip())
        if marker and (indent is None or depth <= indent):
            if indent is not None:
                yield begin, found.start()
            begin, indent = found.start(), depth
    yield begin, end


LINE_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
# Code spans come first, so that nothing inside one is taken for a link; a link may hold code.
INLINE = re.compile(
    r"(?P<code>`[^`]*`)"
    r"|(?<![\w\]])(?:\[(?:\^[\w-]++|\d{1,3}+(?:\s*+[,–-]\s*+\d{1,3}+)*+)\])+(?!\()"
    r"|!\[(?:(?!!\[)[^\]])*+\]\((?:[^()]++|\([^()]*+\))*+\)"
    r"|\[(?P<words>(?:`[^`]*+`|[^\[\]`]++)++)\](?:\((?:[^()]++|\([^()]*+\))*+\)|\[[^\]]*+\])"
)
SPACE = re.compile(r"(`[^`]*`)|\s+")


def readable(quoted: str) -> str:
    """A sentence or item for a reader elsewhere: links become their words, lines are joined, and a
    bracketed number that could be taken for a citation goes. Code spans stay as they are."""
    marker = ITEM.match(quoted)
    text = LINE_QUOTE.sub("", quoted[marker.end() :] if marker else quoted)
    text = INLINE.sub(lambda found: found["code"] or found["words"] or "", text)
    return SPACE.sub(lambda found: found[1] or " ", text).strip()


FENCE_LINE = re.compile(r"\s*(`{3,}|~{3,})")
# What may still become a marker, or opens what is not here yet: too little to tell a boundary by.
TOO_LITTLE_AHEAD = re.compile(r"\s*(?:\[[\d \t,]*|[\"'“‘«(\[*_`]*)")

# The end of the text ends a line too; while more may come, the callers see to it that it does not.
TABLE = re.compile(r"(?:[ \t]*\|[^\n]*(?:\n|\Z))+")
MARKER_LINE = re.compile(r"\s*(?:\[\d{1,3}(?:\s*,\s*\d{1,3})*\][ \t]*)+(?:\n|\Z)")
MAY_BECOME_MARKERS = re.compile(r"\s*(?:\[[\d\s,]*\][ \t]*)*(?:\[[\d\s,]*)?")


# No unit is longer: what goes on and on is given back in pieces of this length.
LONGEST_UNIT = 10_000


class UnitStream:
    """Feed it text as it comes; it gives back units as soon as their end is certain."""

    def __init__(self) -> None:
        self._text = ""

    def feed(self, text: str) -> list[str]:
        self._text += text
        return list(self._complete(at_end=False))

    def finish(self) -> list[str]:
        """What is left when nothing more comes."""
        rest = list(self._complete(at_end=True))
        if self._text:
            rest.append(self._text)
            self._text = ""
        return rest

    def _complete(self, at_end: bool) -> Iterator[str]:
        while (cut := _first_end(self._text, at_end)) is not None:
            yield self._text[:cut]
            self._text = self._text[cut:]
        while len(self._text) >= LONGEST_UNIT:
            yield self._text[:LONGEST_UNIT]
            self._text = self._text[LONGEST_UNIT:]


def _first_end(text: str, at_end: bool) -> int | None:
    """Where the first unit ends, or None while that can't be told."""
    begin = len(text) - len(text.lstrip())
    if begin == len(text):
        return None
    if not at_end and ("```".startswith(text[begin:]) or "~~~".startswith(text[begin:])):
        return None  # it may become a fence
    fence = FENCE_LINE.match(text)
    if fence and not _is_inline(text, fence):
        return _with_own_markers(text, _end_of_fence(text, fence), at_end)
    if text[begin] == "|":
        return _with_own_markers(text, _end_of_table(text, begin, at_end), at_end)
    newline = text.find("\n", begin)
    limit = len(text) if newline < 0 else newline
    for found in END.finditer(text, begin, limit):
        if found.end() == limit:
            break
        if not at_end and TOO_LITTLE_AHEAD.fullmatch(text, found.end()):
            return None
        if is_boundary(text, begin, found.start(), found.end()):
            return found.end()
    return None if newline < 0 else newline + 1


def _is_inline(text: str, fence: re.Match[str]) -> bool:
    """Whether the backticks that begin a line are closed in the same line."""
    line = text[fence.end() :].partition("\n")[0]
    return "`" in fence[1] and "`" in line


def _end_of_fence(text: str, fence: re.Match[str]) -> int | None:
    close = re.compile(rf"^[ \t]*{re.escape(fence[1])}[`~]*[ \t]*\n", re.MULTILINE)
    found = close.search(text, fence.end())
    return found.end() if found else None


def _end_of_table(text: str, begin: int, at_end: bool) -> int | None:
    table = TABLE.match(text, begin)
    if not table:
        return None
    over = text[table.end() :].strip(" \t")
    return table.end() if over or at_end else None


def _with_own_markers(text: str, end: int | None, at_end: bool) -> int | None:
    """A line of nothing but markers below a block belongs to the block."""
    if end is None:
        return None
    own = MARKER_LINE.match(text, end)
    if own and (at_end or text[own.end() - 1] == "\n"):
        return own.end()
    if not at_end and MAY_BECOME_MARKERS.fullmatch(text, end):
        return None
    return end


def split_units(text: str) -> list[str]:
    stream = UnitStream()
    return [*stream.feed(text), *stream.finish()]
