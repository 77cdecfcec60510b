"""From units that answer to what a person can use: a sentence with the code it introduces, a list
with the line that governs it, a row under its table's head, steps from the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bythebook.extractive.units import Unit

# Prose beside code; more stands behind "show the section".
MOST_WORDS = 150
# A longer listing is shown only where it is itself what answers; all listings together are longer
# only where the first already is.
MOST_LINES = 30
# A list up to so long is shown whole once half of it answers.
WHOLE_LIST = 120
# What can't be understood without the unit before it.
NEEDS_CONTEXT = re.compile(
    r"""^\W*(?:it|its|this|these|those|they|their|them|that|such|he|she|
    (?:however|but|and|so|thus|therefore|otherwise|then|also|instead)|
    the\ (?:above|former|latter|same|command|code|example|script|output|result)s?|
    in\ (?:this|that|these|those|such)\ \w+|for\ (?:example|instance)
    )(?![\w'’-])""",
    re.IGNORECASE | re.VERBOSE,
)


def complete(units: Sequence[Unit], evidence: Mapping[int, float]) -> list[int]:
    """The places of the units to show, in the book's order. `evidence` holds the place of each unit
    that answers with its score; the surest come first, each with what belongs to it, until the
    answer is long enough."""
    chosen: set[int] = set()
    for place in sorted(evidence, key=lambda place: (-evidence[place], place)):
        together = chosen | set(_with_context(units, place, evidence))
        if not chosen or _is_short(units, together):
            chosen = together
    chosen |= set(_bridges(units, chosen))
    idle = {place for place in chosen if _is_idle(units, place, chosen)}
    if idle == chosen:  # what is announced is the answer, however long
        for place in idle:
            chosen = chosen | set(_places_of(units, units[place + 1].block))
    else:
        chosen -= idle
    first: dict[tuple[str, str], int] = {}
    for place in sorted(chosen):  # what the book says twice is shown once
        first.setdefault((units[place].kind, units[place].text), place)
    return sorted(first.values())


def _is_idle(units: Sequence[Unit], place: int, chosen: set[int]) -> bool:
    """Whether it announces what is not shown. What follows the last unit is in another passage."""
    if not units[place].announces or place + 1 == len(units):
        return False
    announced = units[place + 1].block
    return not any(units[at].block == announced for at in chosen)


def _is_short(units: Sequence[Unit], places: set[int]) -> bool:
    lines = sum(units[place].lines for place in places if units[place].kind == "code")
    return sum(units[place].words for place in places) <= MOST_WORDS and lines <= MOST_LINES


def are_parallel(units: Sequence[Unit], place: int, beside: int) -> bool:
    """Whether two neighbours are items of one list, rows of one table, or one-line paragraphs."""
    one, other = units[place], units[beside]
    if one.kind != other.kind or one.section != other.section or one.head or other.head:
        return False
    if one.kind in ("item", "row"):
        return one.block == other.block
    return one.kind == "sentence" and _is_alone(units, place) and _is_alone(units, beside)


def _is_alone(units: Sequence[Unit], place: int) -> bool:
    around = (*units[max(place - 1, 0) : place], *units[place + 1 : place + 2])
    return all(unit.block != units[place].block for unit in around)


def first_of_block(units: Sequence[Unit], place: int) -> list[int]:
    """The places of the block that begins here, as far as there is room for them."""
    words = 0
    found: list[int] = []
    for at, unit in enumerate(units[place:], place):
        words += unit.words
        if unit.block != units[place].block or words > WHOLE_LIST:
            break
        found.append(at)
    return found


def _places_of(units: Sequence[Unit], block: int) -> list[int]:
    return [place for place, unit in enumerate(units) if unit.block == block]


def _with_context(
    units: Sequence[Unit], place: int, evidence: Mapping[int, float]
) -> Iterator[int]:
    """The unit itself and all that a reader needs with it."""
    unit = units[place]
    yield place
    yield from (
        n for n, other in enumerate(units) if other.section == unit.section and other.is_term
    )
    if unit.kind == "row":
        yield from (n for n, other in enumerate(units) if other.block == unit.block and other.head)
        yield from _lead(units, _first_of(units, unit.block))
    elif unit.kind == "item":
        yield from _list(units, unit, evidence)
        yield from _lead(units, _first_of(units, unit.block))
    elif unit.kind == "code":
        yield from _lead(units, place)
    elif unit.kind == "sentence":
        yield from _context_before(units, place)
        yield from _introduced(units, place)


def _first_of(units: Sequence[Unit], block: int) -> int:
    return next(place for place, unit in enumerate(units) if unit.block == block)


def _lead(units: Sequence[Unit], place: int) -> Iterator[int]:
    """The sentence before a list, table or listing, where it stands directly before it."""
    before = place - 1
    if before >= 0 and units[before].kind == "sentence":
        yield before
        yield from _context_before(units, before)


def _list(units: Sequence[Unit], item: Unit, evidence: Mapping[int, float]) -> Iterator[int]:
    """The whole list where half of it answers; steps from the first to the last that does."""
    places = _places_of(units, item.block)
    answering = [place for place in places if place in evidence]
    if item.number:
        yield from range(places[0], max(answering, default=places[0]) + 1)
    short = sum(units[place].words for place in places) <= WHOLE_LIST
    if short and 2 * len(answering) >= len(places):
        yield from places


def _introduced(units: Sequence[Unit], place: int) -> Iterator[int]:
    """What stands behind a sentence that announces it; the listing behind any other."""
    after = place + 1
    if after >= len(units) or units[after].block == units[place].block:
        return
    following = units[after]
    if following.kind == "code":
        if following.lines <= MOST_LINES:
            yield after
    elif units[place].announces and following.kind in ("item", "row"):
        yield from first_of_block(units, after)


def _context_before(units: Sequence[Unit], place: int) -> Iterator[int]:
    """The units before a sentence that can't be understood alone, as far as one that can."""
    while NEEDS_CONTEXT.match(units[place].text) and place:
        before = units[place - 1]
        if before.section != units[place].section or before.kind in ("heading", "row"):
            return
        place -= 1
        yield place
        if before.kind == "code":
            yield from _lead(units, place)
            return
        if before.kind != "sentence":
            return


def _bridges(units: Sequence[Unit], chosen: set[int]) -> Iterator[int]:
    """A sentence between two that are shown, in one paragraph."""
    for place in chosen:
        between, behind = place + 1, place + 2
        if behind in chosen and between not in chosen:
            block = {units[n].block for n in (place, between, behind)}
            if len(block) == 1 and units[between].kind == "sentence":
                yield between
