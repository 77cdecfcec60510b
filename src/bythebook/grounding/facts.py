"""Hard facts of a sentence, which a passage must have whatever a network makes of the words:
numbers with their units, dates, code identifiers, quoted strings, names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bythebook.grounding.dates import Date, dates_of
from bythebook.grounding.evidence import parse_evidence
from bythebook.grounding.identifiers import SPAN, missing_identifiers
from bythebook.grounding.names import missing_names
from bythebook.grounding.numbers import COUNTS, Number, numbers_of, same_quantity, units_named
from bythebook.grounding.words import STRAIGHT, bare, stems_of, words_of

# The number of a step is the answer's own.
STEP = re.compile(r"^\s*(?:[-*+]\s+)?(?:\*\*)?(?:step\s+)?\d{1,3}[.):]", re.IGNORECASE)
QUOTED = re.compile(r"\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|«([^»\n]{2,200})»")
HYPHENED = re.compile(r"[^\W_]+(?:-[^\W_]+)+")
SPACE = re.compile(r"\s+")
# What stands before a number that is rounded: the reader judges it.
ROUNDED = re.compile(
    r"(?:about|around|roughly|approximately|nearly|almost|some|over|above|below|under|more than"
    r"|less than|up to|at least|at most|circa|~|≈)\s*$",
    re.IGNORECASE,
)
# Up to this, a number in words may have been counted: "there are three ways".
COUNTED = 12


@dataclass(frozen=True, eq=False)
class Known:
    """What a passage knows."""

    text: str
    flat: str
    # Each number, and the units that its sentence, row or table head names apart from it.
    numbers: tuple[tuple[Number, frozenset[str]], ...]
    dates: tuple[Date, ...]
    bag: frozenset[str]
    # First letters of its words, and those of them that are capitals.
    initials: str
    capitals: str


@lru_cache(maxsize=512)
def known(text: str, language: str) -> Known:
    plain = bare(text)
    words = words_of(plain, language)
    joined = {found[0].replace("-", "").lower() for found in HYPHENED.finditer(plain)}
    first = [plain[word.start] for word in words]
    return Known(
        text=text,
        flat=_flat(plain),
        numbers=tuple(_numbers_with_units(plain, text, language)),
        dates=tuple(dates_of(plain)),
        bag=frozenset(stem for word in words for stem in (*word.stems, word.text)) | joined,
        initials="".join(first).lower(),
        capitals="".join(letter.lower() if letter.isupper() else " " for letter in first),
    )


def _numbers_with_units(
    plain: str, text: str, language: str
) -> Iterator[tuple[Number, frozenset[str]]]:
    units = parse_evidence(text, language).units
    for number in numbers_of(plain):
        around = next((unit for unit in units if unit.start <= number.start < unit.end), None)
        if number.unit or around is None or around.kind == "code":
            yield number, frozenset()
        else:
            above = text[slice(*around.header)] if around.header else ""
            yield number, units_named(f"{above} {plain[around.start : around.end]}")


def _has(evidence: Known, ours: Number) -> bool:
    return any(
        same_quantity(ours, theirs) or (ours.value == theirs.value and ours.unit in named)
        for theirs, named in evidence.numbers
    )


def broken_facts(claim: str, evidence: Known, language: str) -> list[str]:
    """Why the evidence can't be where the claim comes from: a reason for each missing fact."""
    claim = STEP.sub(_blank, claim)
    reasons = [
        *_dates(claim, evidence),
        *_numbers(claim, evidence),
        *(f"“{name}” is not in the passage" for name in _identifiers(claim, evidence)),
        *(f"“{words}” is not in the passage" for words in _quotations(claim, evidence)),
        *(f"the name “{name}” is not in the passage" for name in _names(claim, evidence, language)),
    ]
    return list(dict.fromkeys(reasons))


def in_its_words(claim: str, evidence: Known) -> str:
    """The claim with its quantities and dates written as the evidence writes them: a network knows
    words, not that 2000 ms are 2 seconds."""
    changed: list[tuple[int, int, str]] = []
    for number in _numbers_of(claim):
        same = [other.shown for other, _ in evidence.numbers if same_quantity(number, other)]
        if same and number.shown not in same:
            changed.append((number.start, number.end, same[0]))
    for date in dates_of(bare(claim)):
        same = [other.shown for other in evidence.dates if date.agrees(other)]
        if same and date.shown not in same:
            changed.append((date.start, date.end, same[0]))
    for start, end, words in sorted(changed, reverse=True):
        claim = claim[:start] + words + claim[end:]
    return claim


def _numbers_of(claim: str) -> list[Number]:
    """Those that are no part of a date."""
    plain = bare(claim)
    inside = [(date.start, date.end) for date in dates_of(plain)]
    return [
        number
        for number in numbers_of(plain, with_one=False)
        if not any(start <= number.start < end for start, end in inside)
    ]


def _numbers(claim: str, evidence: Known) -> Iterator[str]:
    plain = bare(claim)
    for number in _numbers_of(claim):
        counted = number.spelled and number.unit in ("", *COUNTS)
        counted = counted and float(number.value) <= COUNTED
        if counted or _has(evidence, number):
            continue
        if any(number.value == other.value for other, _ in evidence.numbers):
            yield f"the number {number.shown} has another unit in the passage"
        elif not ROUNDED.search(plain, max(0, number.start - 20), number.start):
            yield f"the number {number.shown} is not in the passage"


def _dates(claim: str, evidence: Known) -> Iterator[str]:
    for date in dates_of(bare(claim)):
        if not any(date.agrees(other) for other in evidence.dates):
            yield f"the date {date.shown} is not in the passage"


def _identifiers(claim: str, evidence: Known) -> Iterator[str]:
    yield from missing_identifiers(claim, evidence.text)


def _quotations(claim: str, evidence: Known) -> Iterator[str]:
    for found in QUOTED.finditer(SPAN.sub(" ", claim)):
        words = next(filter(None, found.groups()))
        if _flat(bare(words)).strip(" .,;:!?…") not in evidence.flat:
            yield words


def _flat(plain: str) -> str:
    return SPACE.sub(" ", plain.translate(STRAIGHT)).lower()


def _names(claim: str, evidence: Known, language: str) -> Iterator[str]:
    def has_word(word: str) -> bool:
        stems: Sequence[str] = stems_of(word, language)
        return not stems or stems[0] in evidence.bag or word.lower() in evidence.bag

    prose = bare(SPAN.sub(_blank, claim))
    measured = [(number.start, number.end) for number in numbers_of(prose)]
    # Neither "12 March 2024" nor "100 degrees Celsius" names anybody.
    for start, end in (*measured, *((date.start, date.end) for date in dates_of(prose))):
        prose = f"{prose[:start]}{' ' * (end - start)}{prose[end:]}"
    yield from missing_names(prose, language, has_word, evidence.initials, evidence.capitals)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])
