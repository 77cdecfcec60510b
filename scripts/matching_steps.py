"""How many steps a regular expression takes for a text: tried as Python tries it, one way after
the other, and counted. A count is the same on every machine, unlike a time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

Then = Callable[[int], int | None]
Matcher = Callable[[int, Then], int | None]
SINGLE = {"LITERAL", "NOT_LITERAL", "ANY", "IN"}
REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


class TooManySteps(Exception):
    pass


class Steps:
    """One expression, tried on texts."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        source = pattern.pattern
        self._is_text = isinstance(source, str)
        self._text = ""
        self._most = self.count = 0
        self._groups: dict[int, tuple[int, int]] = {}
        source = source if isinstance(source, str) else source.decode("latin")
        parsed = _parser.parse(source, pattern.flags & ~re.LOCALE)
        self._matcher = self._sequence(list(parsed), parsed.state.flags | pattern.flags)

    def over(self, text: str, most: int) -> Steps:
        """Counts anew, up to so many."""
        self._text, self._most, self.count = text, most, 0
        return self

    def match(self, start: int = 0, full: bool = False) -> int | None:
        """Where it ends, if it fits here."""
        self._groups = {}
        return self._matcher(start, lambda at: at if not full or at == len(self._text) else None)

    def find_all(self) -> list[tuple[int, int]]:
        """As `finditer`: each search goes on where the last match ended."""
        found, at = [], 0
        while at <= len(self._text):
            end = self.match(at)
            if end is not None:
                found.append((at, end))
            at = at + 1 if end is None or end == at else end
        return found

    def _step(self) -> None:
        self.count += 1
        if self.count > self._most:
            raise TooManySteps

    def _sequence(self, nodes: list[Any], flags: int) -> Matcher:
        made = [self._node(operation, value, flags) for operation, value in nodes]
        if len(made) == 1:
            return made[0]

        def run(at: int, then: Then, index: int = 0) -> int | None:
            if index == len(made):
                return then(at)
            return made[index](at, lambda end: run(end, then, index + 1))

        return run

    def _node(self, operation: Any, value: Any, flags: int) -> Matcher:
        name = str(operation)
        if name in SINGLE:
            return self._single(operation, value, flags)
        if name in REPEATS:
            return self._repeat(name, value, flags)
        match name:
            case "BRANCH":
                return self._branch([self._sequence(list(each), flags) for each in value[1]])
            case "SUBPATTERN":
                group, added, removed, inner = value
                matcher = self._sequence(list(inner), (flags | added) & ~removed)
                return matcher if group is None else self._group(group, matcher)
            case "ATOMIC_GROUP":
                return self._alone(self._sequence(list(value), flags))
            case "ASSERT" | "ASSERT_NOT":
                return self._look(value, flags, name == "ASSERT")
            case "AT":
                return self._place(str(value), flags)
            case "GROUPREF":
                return self._again(value)
            case _:
                raise NotImplementedError(name)

    def _fits(self, operation: Any, value: Any, flags: int) -> Callable[[str], bool]:
        """Whether a sign is one of those meant, asked of Python itself, once for each sign."""
        text = _written(operation, value)
        kept = flags & (re.IGNORECASE | re.DOTALL | (re.ASCII if self._is_text else 0))
        single = re.compile(text, kept if self._is_text else kept | re.ASCII)
        known: dict[str, bool] = {}

        def fits(sign: str) -> bool:
            if sign not in known:
                known[sign] = single.fullmatch(sign) is not None
            return known[sign]

        return fits

    def _single(self, operation: Any, value: Any, flags: int) -> Matcher:
        fits = self._fits(operation, value, flags)

        def run(at: int, then: Then) -> int | None:
            self._step()
            text = self._text
            return then(at + 1) if at < len(text) and fits(text[at]) else None

        return run

    def _branch(self, ways: list[Matcher]) -> Matcher:
        def run(at: int, then: Then) -> int | None:
            for way in ways:
                if (end := way(at, then)) is not None:
                    return end
            return None

        return run

    def _group(self, number: int, matcher: Matcher) -> Matcher:
        def run(at: int, then: Then) -> int | None:
            def close(end: int) -> int | None:
                before = self._groups.get(number)
                self._groups[number] = at, end
                if (found := then(end)) is None:
                    if before is None:
                        del self._groups[number]
                    else:
                        self._groups[number] = before
                return found

            return matcher(at, close)

        return run

    def _alone(self, matcher: Matcher) -> Matcher:
        """What was taken is not given back."""

        def run(at: int, then: Then) -> int | None:
            end = matcher(at, lambda reached: reached)
            return None if end is None else then(end)

        return run

    def _look(self, value: Any, flags: int, wanted: bool) -> Matcher:
        direction, inner = value
        matcher = self._sequence(list(inner), flags)
        width = inner.getwidth()[0] if direction < 0 else 0

        def run(at: int, then: Then) -> int | None:
            found = at >= width and matcher(at - width, lambda reached: reached) is not None
            return then(at) if found == wanted else None

        return run

    def _place(self, name: str, flags: int) -> Matcher:
        lines = bool(flags & re.MULTILINE)
        word = re.compile(r"\w", 0 if self._is_text else re.ASCII)

        def is_word(at: int) -> bool:
            return 0 <= at < len(self._text) and word.match(self._text[at]) is not None

        def holds(at: int) -> bool:
            text = self._text
            match name:
                case "AT_BEGINNING":
                    return at == 0 or (lines and text[at - 1] == "\n")
                case "AT_BEGINNING_STRING":
                    return at == 0
                case "AT_END":
                    if lines and at < len(text) and text[at] == "\n":
                        return True
                    return at == len(text) or (at == len(text) - 1 and text[at] == "\n")
                case "AT_END_STRING":
                    return at == len(text)
                case "AT_BOUNDARY":
                    return is_word(at - 1) != is_word(at)
                case "AT_NON_BOUNDARY":
                    return is_word(at - 1) == is_word(at)
                case _:
                    raise NotImplementedError(name)

        def run(at: int, then: Then) -> int | None:
            self._step()
            return then(at) if holds(at) else None

        return run

    def _again(self, number: int) -> Matcher:
        def run(at: int, then: Then) -> int | None:
            if number not in self._groups:
                return None
            start, end = self._groups[number]
            for offset in range(end - start):
                self._step()
                if self._text[start + offset] != self._text[at + offset : at + offset + 1]:
                    return None
            self._step()
            return then(at + end - start)

        return run

    def _repeat(self, name: str, value: Any, flags: int) -> Matcher:
        least, most, inner = value
        limit = sys.maxsize if most is c.MAXREPEAT else most
        nodes = list(inner)
        if len(nodes) == 1 and str(nodes[0][0]) in SINGLE:
            made = self._repeat_sign(
                name, least, limit, self._fits(nodes[0][0], nodes[0][1], flags)
            )
        else:
            made = self._repeat_group(name, least, limit, self._sequence(nodes, flags))
        return self._alone(made) if name == "POSSESSIVE_REPEAT" else made

    def _repeat_sign(
        self, name: str, least: int, most: int, fits: Callable[[str], bool]
    ) -> Matcher:
        def greedy(at: int, then: Then) -> int | None:
            text, end = self._text, at
            while end < len(text) and end - at < most and fits(text[end]):
                self._step()
                end += 1
            self._step()
            while end >= at + least:
                self._step()
                if (found := then(end)) is not None:
                    return found
                end -= 1
            return None

        def lazy(at: int, then: Then) -> int | None:
            text, end = self._text, at
            while True:
                self._step()
                if end - at >= least and (found := then(end)) is not None:
                    return found
                if end >= len(text) or end - at >= most or not fits(text[end]):
                    return None
                end += 1

        return lazy if name == "MIN_REPEAT" else greedy

    def _repeat_group(self, name: str, least: int, most: int, matcher: Matcher) -> Matcher:
        lazy = name == "MIN_REPEAT"

        def run(at: int, then: Then, times: int = 0) -> int | None:
            self._step()

            def again(end: int) -> int | None:
                # Once more without a sign would go on for ever.
                return None if end == at and times >= least else run(end, then, times + 1)

            if times < least:
                return matcher(at, again)
            if lazy and (found := then(at)) is not None:
                return found
            if times < most and (found := matcher(at, again)) is not None:
                return found
            return None if lazy else then(at)

        return run


def _written(operation: Any, value: Any) -> str:
    """The single sign of a parsed expression, as it would be written."""
    match str(operation):
        case "LITERAL":
            return re.escape(chr(value))
        case "NOT_LITERAL":
            return f"[^{re.escape(chr(value))}]"
        case "ANY":
            return "."
    parts = []
    for kind, member in value:
        match str(kind):
            case "NEGATE":
                parts.append("^")
            case "LITERAL":
                parts.append(re.escape(chr(member)))
            case "RANGE":
                parts.append(f"{re.escape(chr(member[0]))}-{re.escape(chr(member[1]))}")
            case "CATEGORY":
                parts.append(_CATEGORIES[str(member)])
    return f"[{''.join(parts)}]"


_CATEGORIES = {
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
