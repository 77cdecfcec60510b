"""A passage cut into what can be quoted: sentences, list items, code blocks, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bythebook.language.sentences import split_sentences, trimmed

PieceKind = Literal["sentence", "item", "code", "table", "heading"]
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
    """`text[start:end]`. Pieces of one `block` stand in one paragraph, list or section part;
    an item's own number in its list is `order`, counted from 1."""

    kind: PieceKind
    start: int
    end: int
    block: int
    order: int = 0


def pieces_of(text: str) -> list[Piece]:
    """Every piece of a passage in reading order; together they hold all its words."""
    found: list[Piece] = []
    for number, (kind, start, end) in enumerate(_blocks(text)):
        if kind == "prose":
            found += [Piece("sentence", a, b, number) for a, b in split_sentences(text, start, end)]
        elif kind == "list":
            items = list(_items(text, start, end))
            found += [
                Piece("item", *trimmed(text, a, b), number, order)
                for order, (a, b) in enumerate(items, 1)
            ]
        else:
            found.append(Piece(kind, *trimmed(text, start, end), number))
    return [piece for piece in found if piece.start < piece.end]


def rows_of(text: str, table: Piece) -> Iterator[tuple[int, int]]:
    """Ranges of a table's rows, without the rule below its head."""
    for row in ROW_LINE.finditer(text, table.start, table.end):
        if row[0].strip(RULE_SIGNS):
            yield row.span()


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
    r"|(?<![\w\]])(?:\[(?:\^[\w-]+|\d{1,3}(?:\s*[,–-]\s*\d{1,3})*)\])+(?!\()"
    r"|!\[[^\]]*\]\((?:[^()]|\([^()]*\))*\)"
    r"|\[(?P<words>(?:`[^`]*`|[^\[\]`])+)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\])"
)
SPACE = re.compile(r"(`[^`]*`)|\s+")


def readable(quoted: str) -> str:
    """A sentence or item for a reader elsewhere: links become their words, lines are joined, and a
    bracketed number that could be taken for a citation goes. Code spans stay as they are."""
    marker = ITEM.match(quoted)
    text = LINE_QUOTE.sub("", quoted[marker.end() :] if marker else quoted)
    text = INLINE.sub(lambda found: found["code"] or found["words"] or "", text)
    return SPACE.sub(lambda found: found[1] or " ", text).strip()
