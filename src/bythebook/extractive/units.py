"""A passage as units that can be quoted: sentences, items, rows, code, headings."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bythebook.language.segmentation import Piece, PieceKind, pieces_of, readable, rows_of
from bythebook.models.chunk import count_words

NUMBER = re.compile(r"[ \t>]*(\d{1,3})[.)][ \t]")
SUB_ITEM = re.compile(r"\n(?=[ \t>]+(?:[-*+]|\d{1,3}[.)])[ \t]+)")
IMAGE = re.compile(r"!\[[^\[\]]*+\]\([^)\[\s]*+\)")
CODE = re.compile(r"(?<!`)`++[^`]++`+")
# A name as programs have them: a_b, a.b, a(), aB, -a.
NAME = re.compile(r"-\S++|(?=\S*?(?:_|\w\.\w|\(|[a-z][A-Z]))\S++")
LINKS = ("and", "or", "/", "|")
WORDLESS = re.compile(r"[\W_]*")
ANCHOR = re.compile(r"(?<!\s)\s*+\{#[^{}]*+\}\s*+$")


@dataclass(frozen=True)
class Unit:
    """`text[start:end]` of a passage. Units of one paragraph, list or table share a `block`; those
    between two headings a `section`. `head` marks the rows that name a table's columns."""

    kind: PieceKind
    start: int
    end: int
    block: int
    section: int
    text: str
    head: bool = False

    @property
    def words(self) -> int:
        return 0 if self.kind in ("code", "heading") else count_words(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n") + 1

    @property
    def number(self) -> str:
        """An item's own number in the book, or nothing."""
        found = NUMBER.match(self.text) if self.kind == "item" else None
        return found[1] if found else ""

    @property
    def is_term(self) -> bool:
        """Whether it is the heading of an entry: an option, a function, a setting."""
        words = (
            re.split(r"[\s,]+", CODE.sub(" -code ", shown(self))) if self.kind == "heading" else []
        )
        return any(words) and all(
            not word or word in LINKS or NAME.fullmatch(word) for word in words
        )

    @property
    def announces(self) -> bool:
        """Whether it says that something follows."""
        return self.kind == "sentence" and announces(self.text)


def announces(text: str) -> bool:
    return text.rstrip("*_ ").endswith((":", "："))


def units_of(text: str) -> list[Unit]:
    """Every unit of a passage in reading order; a picture is none, nor what is said of it, nor what
    has no words."""
    found: list[Unit] = []
    section = 0
    pictures = [picture.span() for picture in IMAGE.finditer(text)]
    for piece in pieces_of(text):
        if any(start <= piece.start and piece.end <= end for start, end in pictures):
            continue
        if WORDLESS.fullmatch(text, piece.start, piece.end):  # a rule
            continue
        if piece.kind == "table":
            rows = rows_of(text, piece)
            # A head is what stands above the rule.
            ruled = len(rows) > 1 and bool(text[rows[0].end : rows[1].start].strip())
            found += [_unit(text, row, section, head=ruled and not row.header) for row in rows]
            continue
        section += piece.kind == "heading"
        found.append(_unit(text, piece, section))
    return found


def _unit(text: str, piece: Piece, section: int, head: bool = False) -> Unit:
    words = text[piece.start : piece.end]
    return Unit(piece.kind, piece.start, piece.end, piece.block, section, words, head)


def shown(unit: Unit) -> str:
    """The unit as a reader gets it; an item without its marker."""
    if unit.kind == "code":
        return _dedented(unit.text)
    if unit.kind == "heading":
        return readable(ANCHOR.sub("", unit.text.lstrip("# \t"))).rstrip("# \t")
    return readable(unit.text)


def item_lines(unit: Unit, alone: bool) -> list[str]:
    """An item and the items below it; one that stands alone has no use for its number."""
    lines: list[str] = []
    for part in SUB_ITEM.split(unit.text):
        indent = part[: len(part) - len(part.lstrip(" \t"))] if lines else ""
        number = NUMBER.match(part)
        mark = f"{number[1]}." if number and not (alone and not lines) else "-"
        words = readable(part)
        if words:
            lines.append(f"{indent}{mark} {words}")
    return lines


def _dedented(code: str) -> str:
    """A block that stood in a list or quotation, moved to the margin."""
    lines = code.splitlines()
    fence = lines[-1]
    indent = fence[: len(fence) - len(fence.lstrip(" \t>"))]
    if not indent or lines[0].startswith(indent):
        return code
    return "\n".join([lines[0], *(line.removeprefix(indent) for line in lines[1:])])
