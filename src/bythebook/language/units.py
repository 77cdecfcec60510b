"""An answer cut into the units that are checked and released, also while it is being written.

A unit is a sentence, a list item's sentence, a heading, or a whole table or code block. The units
of a text joined together are the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bythebook.language.sentences import END, is_boundary

FENCE = re.compile(r"\s*(`{3,}|~{3,})")
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
    if not at_end and _may_become_fence(text[begin:]):
        return None
    fence = FENCE.match(text)
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


def _may_become_fence(text: str) -> bool:
    return "```".startswith(text) or "~~~".startswith(text)


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
