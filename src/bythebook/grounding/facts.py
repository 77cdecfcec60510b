"""Facts that must stand in the evidence as they are: numbers, names, identifiers, denials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, product
from operator import mul

from bythebook.grounding.claim import Claim
from bythebook.grounding.difference import changes, nearly
from bythebook.grounding.evidence import Evidence, Unit
from bythebook.grounding.identifiers import holds, identifiers_of, missing_identifiers
from bythebook.grounding.matching import LIGHT, Stretch, common_order
from bythebook.grounding.names import missing_names
from bythebook.grounding.numbers import UNITS, Number
from bythebook.grounding.polarity import (
    denial_conflict,
    order_conflict,
    role_conflict,
    strengthened,
)
from bythebook.grounding.verdict import broken_verdict
from bythebook.grounding.words import Word, stems_of, words_of

# A number that stands far from the matched stretch counts if its own sentence has so much of
# the claim.
SHARE_OF_OWN = 0.34
SHARE_OF_BEST = 0.75
# Two sentences must have so much in common before they can contradict each other.
ALIGNED = 0.4
CLAUSE = re.compile(r"[,;:]\s|\s(?:and|while|whereas|but)\s")


def broken_facts(claim: Claim, evidence: Evidence, stretch: Stretch) -> Iterator[str]:
    yield from _numbers(claim, evidence, stretch)
    yield from (f"“{name}” is not in the passage" for name in _identifiers(claim, evidence))
    yield from (f"the name “{name}” is not in the passage" for name in _names(claim, evidence))
    yield from _contradictions(claim, evidence, stretch)
    yield from _mixed_row(claim, evidence, stretch)
    yield from broken_verdict(claim, evidence, stretch)


def _identifiers(claim: Claim, evidence: Evidence) -> Iterator[str]:
    yield from dict.fromkeys(missing_identifiers(claim.text, evidence.text))


def _names(claim: Claim, evidence: Evidence) -> Iterator[str]:
    def has_word(word: str) -> bool:
        stems = stems_of(word, claim.language)
        return not stems or stems[0] in evidence.bag or word.lower() in evidence.bag

    found = missing_names(
        claim.prose, claim.language, has_word, evidence.initials, evidence.capitals
    )
    yield from dict.fromkeys(found)


def _numbers(claim: Claim, evidence: Evidence, stretch: Stretch) -> Iterator[str]:
    everywhere = [number for unit in evidence.units for number in unit.numbers]
    near = _units_near(claim, evidence, stretch) if claim.numbers else []
    for number in claim.numbers:
        rows = _rows_meant(claim, evidence, number)
        if any(_same(number, other, unit) for unit in (*near, *rows) for other in unit.numbers):
            continue
        if number.spelled and not number.unit and number.value in (*evidence.counts, claim.count):
            continue
        if any(_same(number, other, None) for other in everywhere):
            yield f"the number {number.shown} stands elsewhere in the passage, about something else"
        elif any(number.value == other.value for other in everywhere):
            yield f"the number {number.shown} has another unit in the passage"
        else:
            yield f"the number {number.shown} is not in the passage"
    yield from _exchanged(claim, near)


def _units_near(claim: Claim, evidence: Evidence, stretch: Stretch) -> list[Unit]:
    """Prose and code whose numbers may be meant: the stretch, its neighbours, headings, and what
    shares enough words with the claim."""
    total = sum(term.weight for term in claim.terms) or 1.0
    shares = _shares(claim, evidence)
    enough = max(SHARE_OF_OWN * total, SHARE_OF_BEST * max(shares, default=0.0))
    in_table = bool(evidence.units and evidence.units[stretch.first].header)
    return [
        unit
        for index, (unit, share) in enumerate(zip(evidence.units, shares, strict=True))
        if not unit.header
        and (
            (stretch.first - 1 <= index <= stretch.last + 1 and not in_table)
            or unit.kind == "heading"
            or share >= enough
        )
    ]


def _rows_meant(claim: Claim, evidence: Evidence, number: Number) -> list[Unit]:
    """The rows of a table that fit best to what the claim says around a number."""
    rows = [unit for unit in evidence.units if unit.header]
    if not rows:
        return []
    breaks = [found.start() for found in CLAUSE.finditer(claim.bare)]
    start = max((at for at in breaks if at <= number.start), default=0)
    end = min((at for at in breaks if at >= number.end), default=len(claim.bare))
    options = claim.options(evidence)
    shares = []
    for row in rows:
        found = [t for t, o in zip(claim.terms, options, strict=True) if o.keys() & row.stems]
        inside = sum(term.weight for term in found if start <= term.start < end)
        shares.append(inside + 0.5 * sum(term.weight for term in found))
    best = max(shares)
    return [row for row, share in zip(rows, shares, strict=True) if best and share >= best - 1e-9]


def _shares(claim: Claim, evidence: Evidence) -> list[float]:
    """The weight of the claim's words that each unit has."""
    weights = [term.weight for term in claim.terms]
    return [sum(map(mul, weights, row)) for row in claim.rows(evidence)]


def _same(ours: Number, theirs: Number, unit: Unit | None) -> bool:
    if ours.value != theirs.value:
        return False
    if not ours.unit or ours.unit == theirs.unit:
        return True
    if theirs.unit:
        return False
    # "The period is given in seconds, so 0.5 means ...": the unit stands apart.
    said = {word.text for word in unit.words} if unit else set()
    return unit is None or any(UNITS.get(word) == ours.unit for word in said)


def _exchanged(claim: Claim, near: list[Unit]) -> Iterator[str]:
    """Two numbers of one sentence that changed places."""
    if len(claim.numbers) < 2:
        return
    for unit, behind in product(near, (False, True)):
        ours = _anchors(claim.numbers, claim.words, behind)
        theirs = _anchors(unit.numbers, unit.words, behind)
        for (one, left), (other, right) in pairwise(ours):
            if one.value == other.value or not left or not right or left == right:
                continue
            pairs = {(number.value, anchor) for number, anchor in theirs}
            if {(one.value, right), (other.value, left)} <= pairs and not (
                {(one.value, left), (other.value, right)} & pairs
            ):
                yield f"the numbers {one.shown} and {other.shown} are exchanged"
                return


def _anchors(
    numbers: tuple[Number, ...], words: tuple[Word, ...], behind: bool
) -> list[tuple[Number, str]]:
    """Each number with the word before it, or behind it, that carries meaning."""
    inside = [(number.start, number.end) for number in numbers]
    content = [
        (word.start, word.stems[0])
        for word in words
        if word.stems and not any(a <= word.start < b for a, b in inside)
    ]
    if behind:
        return [
            (number, next((stem for at, stem in content if at >= number.end), ""))
            for number in numbers
        ]
    return [
        (number, next((stem for at, stem in reversed(content) if at < number.start), ""))
        for number in numbers
    ]


def _contradictions(claim: Claim, evidence: Evidence, stretch: Stretch) -> Iterator[str]:
    index = _most_alike(claim, evidence, stretch)
    if index is None:
        return
    unit, text = evidence.units[index], evidence.bare
    sentence = _tokens(evidence, unit)
    other = _other_identifier(claim, evidence, index)
    if other:
        yield f"the passage says “{other[0]}” there, not “{other[1]}”"
    changed = list(changes(claim.tokens, sentence, evidence.names))
    if changed:
        yield from changed
        return
    denied = denial_conflict(claim.words, claim.bare, unit.words, text)
    if denied:
        yield f"the passage says the opposite about “{denied}”"
    in_order = _in_order(claim, evidence, unit)
    turned = order_conflict(claim.words, unit.words, in_order)
    if turned:
        yield f"“{turned}” stands the other way round in the passage"
    swapped = None if in_order else role_conflict(claim.words, claim.bare, unit.words, text)
    if swapped:
        yield f"who “{swapped}” whom is the other way round in the passage"
    more = strengthened(claim.words, unit.words)
    if more:
        yield f"the passage says “{more[1]}”, not “{more[0]}”"


def _tokens(evidence: Evidence, unit: Unit) -> list[tuple[str, str]]:
    return [
        (token, evidence.bare[a:b]) for token, a, b in evidence.tokens if unit.start <= a < unit.end
    ]


def is_near_copy(claim: Claim, evidence: Evidence, stretch: Stretch) -> bool:
    index = _most_alike(claim, evidence, stretch)
    if index is None:
        return False
    return nearly(claim.tokens, _tokens(evidence, evidence.units[index])) is not None


def _other_identifier(claim: Claim, evidence: Evidence, index: int) -> tuple[str, str] | None:
    """A sentence that says all of the claim but has another identifier in its place."""
    unit = evidence.units[index]
    text = evidence.text[unit.start : unit.end]
    ours, theirs = identifiers_of(claim.text), identifiers_of(text)
    strange = [name for name in ours if name not in theirs and not holds(name, text)]
    instead = [name for name in theirs if name not in ours and not holds(name, claim.text)]
    if len(strange) != 1 or not instead:
        return None
    named = {stem for word in words_of(strange[0], claim.language) for stem in word.stems}
    quality = claim.rows(evidence)[index]
    rest = [q for t, q in zip(claim.terms, quality, strict=True) if not named & set(t.stems)]
    return (min(instead), strange[0]) if len(rest) > 1 and all(rest) else None


def _mixed_row(claim: Claim, evidence: Evidence, stretch: Stretch) -> Iterator[str]:
    """A row against the row it begins like: every cell must be there."""
    unit = evidence.units[stretch.first] if evidence.units else None
    if not claim.is_row or unit is None or not unit.header:
        return
    for term, option in zip(claim.terms, claim.options(evidence), strict=True):
        if term.weight > LIGHT and not option.keys() & unit.stems:
            yield f"“{term.word}” is not in that row of the passage's table"


def _in_order(claim: Claim, evidence: Evidence, unit: Unit) -> bool:
    options = [option for option in claim.options(evidence) if option.keys() & unit.stems]
    return common_order(options, unit.sequence) == len(options)


def _most_alike(claim: Claim, evidence: Evidence, stretch: Stretch) -> int | None:
    """The unit of the stretch with most of the claim, if it has enough of it."""
    shares = _shares(claim, evidence)
    most = ALIGNED * (sum(term.weight for term in claim.terms) or 1.0)
    best = None
    for index in range(stretch.first, min(stretch.last + 1, len(shares))):
        if shares[index] > most and evidence.units[index].kind != "code":
            best, most = index, shares[index]
    return best
