"""HTML and JSX tags: where one ends, and which of its attributes a reader sees as text."""

from __future__ import annotations

import re
from dataclasses import dataclass

NAME = re.compile(r"</?\s*([A-Za-z][\w.:-]*)")
ATTRIBUTE_NAME = re.compile(r"[A-Za-z_:@#][\w.:@-]*")
UNQUOTED_VALUE = re.compile(r"[^\s\"'=<>`{]+")
SPACE = re.compile(r"\s*")
BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")

# A tag longer than this is not one; it bounds the work on a stray "<".
MAX_TAG = 20_000
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


def read_tag(text: str, start: int) -> Tag | None:
    """The tag that begins at `start`, or None where `<` is just a character."""
    found = NAME.match(text, start)
    if not found:
        return None
    name = found[1]
    closing = text.startswith("</", start)
    limit = min(len(text), start + MAX_TAG)
    position = found.end()
    shown: list[tuple[int, int]] = []
    while position < limit:
        after_space = _match_end(SPACE, text, position)
        if BLANK_LINE.search(text, position, after_space):
            return None
        if text.startswith("/>", after_space):
            return Tag(name, start, after_space + 2, closing, True, tuple(shown))
        character = text[after_space : after_space + 1]
        if character == ">":
            return Tag(name, start, after_space + 1, closing, False, tuple(shown))
        if character == "{":  # JSX spread
            position = end_of_braces(text, after_space, limit)
            if position < 0:
                return None
            continue
        attribute = ATTRIBUTE_NAME.match(text, after_space)
        if not attribute or (after_space == position and position != found.end()):
            return None
        position = attribute.end()
        equals = _match_end(SPACE, text, position)
        if text[equals : equals + 1] != "=":
            continue
        value = _match_end(SPACE, text, equals + 1)
        position = _end_of_value(text, value, limit)
        if position < 0:
            return None
        if text[value] in "\"'" and name[0].isupper() and attribute[0] in SHOWN_ATTRIBUTES:
            shown.append((value + 1, position - 1))
    return None


def end_of_braces(text: str, start: int, limit: int | None = None) -> int:
    """Where the bracket at `start` closes, minding nested ones and strings; -1 if it does not."""
    limit = len(text) if limit is None else limit
    depth = 0
    position = start
    while position < limit:
        character = text[position]
        if character in "\"'`":
            closed = _end_of_string(text, position, limit)
            position = closed if closed > 0 else position + 1
            continue
        if text.startswith("/*", position):
            closed = text.find("*/", position, limit)
            if closed < 0:
                return -1
            position = closed + 2
            continue
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    return -1


def _end_of_string(text: str, start: int, limit: int) -> int:
    quote = text[start]
    position = start + 1
    while position < limit:
        character = text[position]
        if character == "\\":
            position += 2
            continue
        if character == quote:
            return position + 1
        if character == "\n" and quote != "`":
            return -1
        position += 1
    return -1


def _end_of_value(text: str, start: int, limit: int) -> int:
    if start >= limit:
        return -1
    if text[start] in "\"'":
        end = text.find(text[start], start + 1, limit)
        return end + 1 if end >= 0 else -1
    if text[start] == "{":
        return end_of_braces(text, start, limit)
    unquoted = UNQUOTED_VALUE.match(text, start)
    return unquoted.end() if unquoted else -1


def _match_end(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position
