"""Attacks every regular expression of the package with long texts made to hold it up.

    python -m scripts.check_patterns [PART OF A NAME]

The steps of each expression are counted in texts of growing size. Where they grow faster than the
text, the expression is listed with the text; the status is then 1.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from scripts.expressions import Expression, expressions
from scripts.matching_steps import Steps, TooManySteps

SIZES = (120, 240, 480, 960)
# So many steps for a character are no reason to look on; so many are too many, whatever follows.
FEW, TOO_MANY = 6, 400
# Twice the text takes twice the steps, and four times as many where every place is tried, once
# the text is longer than what a repetition with an end takes.
GENTLE, STEEP, BOUND = 2.2, 3.0, 400
# A repetition of a group goes one call deeper for each time.
DEPTH = 50_000
SIGNS = " \n\ta1_.,:;-=*#>|<[](){}`~'\"/\\&!@$%^+?\x00é\u200b"
# Of the signs that an expression names, so many are tried in pairs.
MOST_NAMED = 8
ENDS = ("", "\x00", "\n!")


@dataclass(frozen=True)
class Finding:
    place: str
    attack: str
    steps: int
    size: int


def attacks(
    pattern: re.Pattern[Any], most_named: int = MOST_NAMED
) -> Iterator[tuple[str, str, str]]:
    """Beginnings, what to repeat, and ends."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin")
    parsed = _parser.parse(text, pattern.flags & ~re.LOCALE)
    seen: set[tuple[str, str]] = set()
    for before, pumped in _pumps(list(parsed), "", pattern.flags):
        for start, repeated in ((before, pumped), ("", before + pumped), ("", before)):
            if repeated and (start, repeated) not in seen:
                seen.add((start, repeated))
                for end in ENDS:
                    yield start, repeated, end
    for sign in SIGNS:
        yield "", sign, "\x00"
    # Such as an escape and the sign that begins what it stands in: each is a new start.
    named = sorted({chr(code) for code in _literals(list(parsed))})[:most_named]
    for first, second in permutations(named, 2):
        yield "", first + second, "\x00"


def _literals(nodes: list[Any]) -> Iterator[int]:
    """The signs that an expression names, but for letters and digits."""
    for operation, value in nodes:
        members = value if str(operation) == "IN" else [(operation, value)]
        for kind, code in members:
            if str(kind) in ("LITERAL", "NOT_LITERAL") and not chr(code).isalnum():
                yield code
        for inner in _inner(operation, value):
            yield from _literals(inner)


def _pumps(nodes: list[Any], before: str, flags: int) -> Iterator[tuple[str, str]]:
    """For each repetition: a text that leads to it, and texts that it takes."""
    for operation, value in nodes:
        name = str(operation)
        if "REPEAT" in name:
            _, most, inner = value
            if most is c.MAXREPEAT or most > 20:
                for variant in range(4):
                    yield before, _sample(list(inner), variant)
            yield from _pumps(list(inner), before, flags)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from _pumps(list(branch), before, flags)
        elif name == "SUBPATTERN":
            yield from _pumps(list(value[3]), before, flags)
        elif name == "ATOMIC_GROUP":
            yield from _pumps(list(value), before, flags)
        elif name in ("ASSERT", "ASSERT_NOT"):
            yield from _pumps(list(value[1]), before, flags)
        before += _sample([(operation, value)], 0)


def _sample(nodes: list[Any], variant: int) -> str:
    """A text that fits, or nearly: what stands around is not looked at."""
    made = ""
    for operation, value in nodes:
        match str(operation):
            case "LITERAL":
                made += chr(value)
            case "NOT_LITERAL":
                made += next(sign for sign in "a1 \n"[variant:] + "ab" if ord(sign) != value)
            case "ANY":
                made += "a1 ."[variant]
            case "IN":
                made += _member(value, variant)
            case "BRANCH":
                made += _sample(list(value[1][variant % len(value[1])]), variant)
            case "SUBPATTERN":
                made += _sample(list(value[3]), variant)
            case "ATOMIC_GROUP":
                made += _sample(list(value), variant)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                made += _sample(list(value[2]), variant) * max(value[0], 1 if variant % 2 else 0)
            case "CATEGORY":
                made += _of_category(str(value), variant)
    return made


def _of_category(name: str, variant: int) -> str:
    signs = {
        "CATEGORY_SPACE": " \n\t ",
        "CATEGORY_DIGIT": "1234",
        "CATEGORY_WORD": "a1_b",
        "CATEGORY_NOT_SPACE": "a1.*",
        "CATEGORY_NOT_WORD": " .\n*",
        "CATEGORY_NOT_DIGIT": "a \n.",
    }
    return signs[name][variant]


def _member(members: list[Any], variant: int) -> str:
    if str(members[0][0]) == "NEGATE":
        text = "".join(f"\\u{value:04x}" for kind, value in members[1:] if str(kind) == "LITERAL")
        excluded = {chr(int(code, 16)) for code in re.findall(r"\\u([0-9a-f]{4})", text)}
        excluded |= {
            sign
            for kind, value in members[1:]
            if str(kind) == "CATEGORY"
            for sign in SIGNS
            if re.match(
                {"CATEGORY_SPACE": r"\s", "CATEGORY_WORD": r"\w"}.get(str(value), r"\d"), sign
            )
        }
        free = [sign for sign in "a1 \n.*<-" if sign not in excluded] or ["é"]
        return free[variant % len(free)]
    kind, value = members[variant % len(members)]
    match str(kind):
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return chr(value[0])
        case _:
            return _of_category(str(value), variant)


def nested_repetitions(pattern: re.Pattern[Any]) -> list[str]:
    """Repetitions without end of what is nothing but another one, such as `(a+)+` or `(a|b*)*`: the
    time for them doubles with each letter. Possessive ones and atomic groups give nothing back."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin")
    parsed = _parser.parse(text, pattern.flags & ~re.LOCALE)
    return [str(part)[:200] for part in _nested(list(parsed))]


def _nested(nodes: list[Any]) -> Iterator[Any]:
    for operation, value in nodes:
        is_repetition = str(operation) in ("MAX_REPEAT", "MIN_REPEAT")
        is_endless = is_repetition and value[1] is c.MAXREPEAT
        if is_endless and any(map(_is_one_repetition, _ways(list(value[2])))):
            yield value
        for inner in _inner(operation, value):
            yield from _nested(inner)


def _inner(operation: Any, value: Any) -> list[list[Any]]:
    match str(operation):
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return [list(value[2])]
        case "BRANCH":
            return [list(branch) for branch in value[1]]
        case "SUBPATTERN":
            return [list(value[3])]
        case "ATOMIC_GROUP":
            return [list(value)]
        case "ASSERT" | "ASSERT_NOT":
            return [list(value[1])]
        case _:
            return []


def _ways(nodes: list[Any]) -> Iterator[list[Any]]:
    """What a group may be, one alternative at a time, without what may be left out."""
    if len(nodes) == 1 and str(nodes[0][0]) == "SUBPATTERN":
        yield from _ways(list(nodes[0][1][3]))
    elif len(nodes) == 1 and str(nodes[0][0]) == "BRANCH":
        for branch in nodes[0][1][1]:
            yield from _ways(list(branch))
    else:
        yield nodes


def _is_one_repetition(nodes: list[Any]) -> bool:
    """Whether all but one part may be empty, and that one goes on without end."""
    needed = [
        (operation, value)
        for operation, value in nodes
        if not (str(operation).endswith("REPEAT") and value[0] == 0)
        and not str(operation).startswith(("AT", "ASSERT"))
    ]
    endless = [
        value
        for operation, value in nodes
        if str(operation) in ("MAX_REPEAT", "MIN_REPEAT") and value[1] is c.MAXREPEAT
    ]
    if not endless or len(needed) > 1:
        return False
    return not needed or (
        str(needed[0][0]) in ("MAX_REPEAT", "MIN_REPEAT") and needed[0][1][1] is c.MAXREPEAT
    )


def _steps(expression: Expression, steps: Steps, text: str, most: int) -> int:
    counted = steps.over(text, most)
    try:
        if expression.anchored:
            counted.match()
            counted.match(full=True)
        else:  # all that there are, as for `sub`, `split` and `findall`
            counted.find_all()
    except TooManySteps:
        return most
    return counted.count


def check(expression: Expression, most_named: int = MOST_NAMED) -> Finding | None:
    """The first attack on it that works."""
    steps = Steps(expression.pattern)
    for start, repeated, end in attacks(expression.pattern, most_named):
        counts = []
        for size in SIZES:
            text = start + repeated * (size // len(repeated)) + end
            counts.append(_steps(expression, steps, text, size * TOO_MANY))
            if counts[-1] >= size * TOO_MANY or (size > BOUND and counts[-1] > counts[-2] * STEEP):
                attack = f"{start!r} + {repeated!r} * n + {end!r}"
                return Finding(expression.place, attack, counts[-1], size)
            if counts[-1] <= size * FEW or (len(counts) > 1 and counts[-1] <= counts[-2] * GENTLE):
                break
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("part", nargs="?", default="")
    given = parser.parse_args()
    sys.setrecursionlimit(DEPTH)
    found = [each for each in expressions() if given.part in each.place]
    findings = []
    for expression in found:
        if finding := check(expression):
            findings.append(finding)
            print(
                f"{finding.place}: {finding.steps} steps for {finding.size} characters: "
                f"{finding.attack}\n    {expression.pattern.pattern[:160]!r}"
            )
    print(f"{len(found)} expressions, {len(findings)} that can be held up")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
