"""What a program reads literally: code spans, options, paths, addresses, names with dots."""

from __future__ import annotations

import re
from collections.abc import Iterator

SPAN = re.compile(r"`+([^`\n]+)`+")
LINK_TARGET = re.compile(r"\]\(\s*<?([^)\s>]+)")
BARE = re.compile(
    r"""(?P<address>https?://[^\s<>()\[\]"'`]+|\bwww\.[^\s<>()\[\]"'`]+)
    |(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
    |(?P<option>(?<![\w-])(?:--[A-Za-z][\w-]*(?:=[^\s,;]+)?|(?<=\s)-[A-Za-z]\b(?!-)))
    |(?P<decorator>(?<![\w@])@[A-Za-z][\w./-]*)
    |(?P<path>(?<![\w/.:])(?:~|\.{1,2})?/[A-Za-z_][\w./-]*\w|\b[\w.-]+(?:/[\w.-]+){2,}
        |\b[\w-]+/[\w-]+\.\w{1,5}\b)
    |(?P<call>\b[A-Za-z_][\w.]*\(\))
    |(?P<dotted>\b[A-Za-z_][\w-]*(?:(?:\.|::)[A-Za-z_]\w*)+)
    |(?P<snake>(?<![\w])_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+)
    |(?P<humps>\b(?:[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]*)(?:-\w+)*)""",
    re.VERBOSE,
)
LATIN = frozenset({"e.g", "i.e", "a.m", "p.m", "u.s", "u.k", "z.b", "d.h", "u.a", "etc"})
ENDS = ".,;:!?'\""
PLAIN = re.compile(r"[A-Za-z]+(?:[ -][A-Za-z]+)*$")
SPACE = re.compile(r"\s+")


def identifiers_of(text: str) -> set[str]:
    """Code spans and names with humps, dots or underscores."""
    spans = set(SPAN.findall(text))
    return spans | {found[0].rstrip(ENDS) for found in BARE.finditer(SPAN.sub(" ", text))}


def missing_identifiers(claim: str, evidence: str) -> Iterator[str]:
    """Those of a claim (its citations removed) that the evidence does not hold."""
    flat = SPACE.sub(" ", evidence)
    for span in SPAN.findall(claim):
        wanted = SPACE.sub(" ", span).strip()
        if wanted and not _holds_span(wanted, flat):
            yield wanted
    for target in LINK_TARGET.findall(claim):
        if target.rstrip("/") not in flat:
            yield target
    prose = SPAN.sub(" ", re.sub(r"\]\([^)]*\)", "]", claim))
    for found in BARE.finditer(prose):
        wanted = found[0].rstrip(ENDS)
        if wanted.lower() in LATIN:
            continue
        if not holds(wanted, flat, any_case=found.lastgroup in {"humps", "address", "email"}):
            yield wanted


def _holds_span(wanted: str, flat: str) -> bool:
    if holds(wanted, flat, any_case=bool(PLAIN.match(wanted))):
        return True
    parts = wanted.split(" ")
    return len(parts) > 1 and all(holds(part, flat) for part in parts)


def holds(wanted: str, flat: str, *, any_case: bool = False) -> bool:
    """Whether a text has this name, not as a part of a longer one."""
    if any_case:
        wanted, flat = wanted.lower(), flat.lower()
    if wanted.endswith("()"):
        wanted = wanted[:-2]
    if not wanted:
        return True
    at = flat.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not _joins(flat, at - 1, at) and not _joins(flat, end - 1, end):
            return True
        at = flat.find(wanted, at + 1)
    return False


def _joins(text: str, left: int, right: int) -> bool:
    """Whether two neighbours belong to one name."""
    if left < 0 or right >= len(text):
        return False
    a, b = text[left], text[right]
    if _is_part(a) and _is_part(b):
        return True
    # "plug-in" is not "plug", but a dash before an option or behind a word is only a dash.
    if a == "-" and _is_part(b):
        return left > 0 and _is_part(text[left - 1])
    if b == "-" and _is_part(a):
        return right + 1 < len(text) and _is_part(text[right + 1])
    return False


def _is_part(character: str) -> bool:
    return character.isalnum() or character == "_"
