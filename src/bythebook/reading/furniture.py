"""Lines of Markdown that no page shows: comments of MyST, orders to mkdocstrings, targets of
links."""

from __future__ import annotations

import re
from collections.abc import Set

from bythebook.reading.directives import Range
from bythebook.reading.source import BREAK, LINE_END, LINE_START

# A page in MyST has a directive, a role or a label.
MYST = re.compile(
    rf"\{{[A-Za-z][\w:.+-]*+\}}`|{LINE_START}(?:[ \t]*+(?:`{{3,}}+|:{{3,}}+)\{{|\([\w:.+-]++\)=)"
)
COMMENT = re.compile(rf"{LINE_START}%(?:[ \t][^\r\n]*+)?{LINE_END}")
TARGET = (
    r" {0,3}\[(?!\^)(?P<name>(?:[^\[\]\\\r\n]|\\.)++)\]:[ \t]*+(?:<[^<>\r\n]*+>|[^\s<>]++)"
    r"(?:[ \t]++(?:\"[^\"\r\n]*+\"|'[^'\r\n]*+'|\([^()\r\n]*+\)))?+[ \t]*+"
)
# Behind a blank line, a heading or another of them; anything else would go on below text.
TARGETS = re.compile(
    rf"(?:\A|(?<=\n\n)|(?<=\n\r\n)|(?<=\r\r)|(?<=[ \t]\n)|(?<=\ufeff))"
    rf"(?:{TARGET.replace('?P<name>', '?:')}(?:{BREAK}|\Z))++"
)
NAME = re.compile(rf"{LINE_START}{TARGET}{LINE_END}")
LINK = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`++)[^`\r\n]*+(?P=ticks))"
    r"|(?P<open>!?\[)(?P<words>[^\[\]`\r\n]++|(?:`[^`\r\n]++`))(?P<close>\](?:\[(?P<name>[^\[\]\r\n]*+)\])?+)(?![(:\[])"
)
MKDOCSTRINGS = re.compile(
    rf"{LINE_START}(?P<indent>[ \t]*+):::[ \t]++(?P<name>[A-Za-z_]\w*+(?:\.\w++)*+)[ \t]*+"
    rf"{LINE_END}(?P<options>(?:{BREAK}(?P=indent)(?:[ ]{{2}}|\t)[^\r\n]*+)*+)"
)
# The head of a box, which may have nothing else in it.
BOX = re.compile(rf"{LINE_START}(?P<indent>[ \t]*+)(?:!!!|\?\?\?\+?)[ \t][^\r\n]*+{BREAK}")
BLANK_LINES = re.compile(rf"(?:[ \t]*+(?:{BREAK}|\Z))*?(?=[ \t]*+\S|\Z)")
INDENT = re.compile(r"[ \t]*+")


def is_myst(text: str) -> bool:
    return MYST.search(text) is not None


def comments(text: str, start: int, end: int) -> list[Range]:
    return [found.span() for found in COMMENT.finditer(text, start, end)]


def mkdocstrings(text: str, start: int, end: int) -> list[Range]:
    """`::: package.name` with its options: what it shows is in no page. A box goes with it that
    holds nothing else."""
    removed: list[Range] = []
    boxes = {box.end(): box for box in BOX.finditer(text, start, end)}
    for found in MKDOCSTRINGS.finditer(text, start, end):
        if "." not in found["name"] and ":" not in found["options"]:
            continue  # a box of another kind
        removed.append(found.span())
        box = boxes.get(found.start())
        if box and len(box["indent"]) < len(found["indent"]):
            below = BLANK_LINES.match(text, found.end(), end)
            indent = INDENT.match(text, below.end() if below else found.end(), end)
            if indent and len(indent[0]) <= len(box["indent"]):
                removed.append(box.span())
    return removed


def link_names(text: str) -> frozenset[str]:
    """What the page has targets of links for."""
    if "]:" not in text:
        return frozenset()
    return frozenset(_name(found["name"]) for found in NAME.finditer(text))


def _name(written: str) -> str:
    return " ".join(written.split()).casefold()


def link_targets(text: str, start: int, end: int) -> list[Range]:
    """`[name]: https://…`, which no page shows."""
    return [found.span() for found in TARGETS.finditer(text, start, end)]


def link_marks(text: str, start: int, end: int, names: Set[str]) -> list[Range]:
    """Of `[words][name]` and `[name]`, all but the words: without the target it is no link."""
    removed: list[Range] = []
    for found in LINK.finditer(text, start, end):
        if not found["code"] and _name(found["name"] or found["words"]) in names:
            removed += [found.span("open"), found.span("close")]
    return removed
