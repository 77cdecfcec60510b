"""HTML and JSX tags: where one ends, and which of its attributes a reader sees as text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bythebook.reading.source import BREAK

NAME = re.compile(r"</?([A-Za-z][\w.:-]*)")
ATTRIBUTE_NAME = re.compile(r"[A-Za-z_:@#][\w.:@-]*")
UNQUOTED_VALUE = re.compile(r"[^\s\"'=<>`{]+")
SPACE = re.compile(r"\s*")
BLANK_LINE = re.compile(rf"{BREAK}[ \t]*{BREAK}")
BRACKET_OR_STRING = re.compile(r"[\"'`{}\[\]()]|/\*")
END_OF_STRING = {
    quote: re.compile(rf"(?:[^\\{quote}{ends}]|\\.)*+(?P<quote>{quote}?)", re.DOTALL)
    for quote, ends in (('"', r"\r\n"), ("'", r"\r\n"), ("`", ""))
}
STATEMENT_PART = re.compile(rf"[\"'`{{\[(]|/\*|{BREAK}[ \t]*(?:{BREAK}|\Z)")

# A tag longer than this is not one; it bounds the work on a stray "<". In a file with many
# brackets that never close, which real tags don't have, each is given less.
MAX_TAG = 20_000
MAX_UNCLOSED = 50
MAX_TAG_AFTER_MANY_UNCLOSED = 500
SHOWN_ATTRIBUTES = ("label", "title", "summary")


@dataclass(frozen=True)
class Tag:
    """One tag of the source: `shown` are ranges inside it that are text to a reader."""

    name: str
    start: int
    end: int
    closing: bool
    empty: bool
    shown: tuple[tuple[int, int], ...] = ()


class TagReader:
    """Reads the tags and module statements of one file."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.unclosed = 0

    def read(self, start: int, end: int) -> Tag | None:
        """The tag that begins at `start`, or None where `<` is just a character."""
        text = self.text
        found = NAME.match(text, start, end)
        if not found:
            return None
        name = found[1]
        closing = text.startswith("</", start)
        most = MAX_TAG if self.unclosed < MAX_UNCLOSED else MAX_TAG_AFTER_MANY_UNCLOSED
        limit = min(end, start + most)
        position = found.end()
        shown: list[tuple[int, int]] = []
        while position < limit:
            after_space = _match_end(SPACE, text, position, limit)
            if BLANK_LINE.search(text, position, after_space):
                return None
            if text.startswith("/>", after_space, limit):
                return Tag(name, start, after_space + 2, closing, True, tuple(shown))
            character = text[after_space : min(after_space + 1, limit)]
            if character == ">":
                return Tag(name, start, after_space + 1, closing, False, tuple(shown))
            if character == "{":  # JSX spread
                position = self._end_of_braces(after_space, limit)
                if position < 0:
                    return None
                continue
            attribute = ATTRIBUTE_NAME.match(text, after_space, limit)
            if not attribute or (after_space == position and position != found.end()):
                return None
            position = attribute.end()
            equals = _match_end(SPACE, text, position, limit)
            if not text.startswith("=", equals, limit):
                continue
            value = _match_end(SPACE, text, equals + 1, limit)
            position = self._end_of_value(value, limit)
            if position < 0:
                return None
            if text[value] in "\"'" and name[0].isupper() and attribute[0] in SHOWN_ATTRIBUTES:
                shown.append((value + 1, position - 1))
        return None

    def end_of_statement(self, start: int, end: int) -> int:
        """Where a module statement ends, which as in MDX is the next blank line outside its
        brackets and strings."""
        position = start
        unclosed: set[str] = set()
        while found := STATEMENT_PART.search(self.text, position, end):
            mark, position = found[0], found.end()
            if mark[0] in "\r\n":
                return found.start()
            if mark in unclosed:
                continue
            if mark in "{[(":
                limit = end if self.unclosed < MAX_UNCLOSED else min(end, position + MAX_TAG)
                closed = self._end_of_braces(found.start(), limit)
            else:
                closed, is_closed = _end_of_opaque(self.text, mark, position, end)
                closed = closed if is_closed else -1
            if closed < 0:
                unclosed.add(mark)
            position = max(position, closed)
        return end

    def _end_of_value(self, start: int, limit: int) -> int:
        if start >= limit:
            return -1
        if self.text[start] in "\"'":
            end = self.text.find(self.text[start], start + 1, limit)
            return end + 1 if end >= 0 else -1
        if self.text[start] == "{":
            return self._end_of_braces(start, limit)
        unquoted = UNQUOTED_VALUE.match(self.text, start, limit)
        return unquoted.end() if unquoted else -1

    def _end_of_braces(self, start: int, limit: int) -> int:
        end = end_of_braces(self.text, start, limit)
        self.unclosed += end < 0
        return end


def end_of_braces(text: str, start: int, limit: int) -> int:
    """Where the bracket at `start` closes, minding nested ones and strings; -1 if it does not."""
    depth = 0
    position = start
    # Up to where a quotation mark begins no string: what an earlier one did not find is not there.
    unclosed: dict[str, int] = {}
    while found := BRACKET_OR_STRING.search(text, position, limit):
        mark, position = found[0], found.end()
        if mark == "/*" or mark in END_OF_STRING:
            if found.start() < unclosed.get(mark, 0):
                continue
            after, is_closed = _end_of_opaque(text, mark, position, limit)
            if is_closed:
                position = after
            elif mark == "/*":
                return -1
            else:
                unclosed[mark] = after
        elif mark in "{[(":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return position
    return -1


def _end_of_opaque(text: str, mark: str, start: int, limit: int) -> tuple[int, bool]:
    """Where the string or comment whose first mark ends at `start` ends, and whether it is closed
    there."""
    if mark == "/*":
        closed = text.find("*/", start, limit)
        return (closed + 2, True) if closed >= 0 else (limit, False)
    found = END_OF_STRING[mark].match(text, start, limit)
    return (found.end(), bool(found["quote"])) if found else (limit, False)


def _match_end(pattern: re.Pattern[str], text: str, position: int, limit: int) -> int:
    found = pattern.match(text, position, limit)
    return found.end() if found else position
