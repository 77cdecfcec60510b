"""Which part of a passage answers, as quotations in the book's order, into the next passage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from bythebook.extractive.completion import (
    MOST_LINES,
    MOST_WORDS,
    are_parallel,
    complete,
    first_of_block,
)
from bythebook.extractive.units import Unit, item_lines, shown, units_of
from bythebook.grounding.instructions import without_instructions
from bythebook.language.segmentation import cells_of
from bythebook.models.passage import Passage
from bythebook.reader.reader import Reading

MARKER = re.compile(r"(?<!\s)\s*+\[\d{1,3}\]")
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Quote:
    """Markdown for `passage.text[start:end]`; `gap` stands between it and what is before. One that
    is `introduced` belongs to the sentence directly before it and needs no marker of its own, nor
    does the `term` that what comes next is about."""

    text: str
    passage: Passage
    start: int
    end: int
    gap: str = "\n\n"
    introduced: bool = False
    term: bool = False


def quotes_of(passage: Passage, readings: Sequence[Reading]) -> list[Quote]:
    """The evidence of a passage for one or more questions, completed to what a person can use; its
    beginning where nobody read it. What speaks to a machine instead of a reader is no part."""
    units = units_in(passage)
    if not readings:
        return list(rendered(passage, units, _beginning(units)))
    return list(rendered(passage, units, complete(units, evidence_in(units, readings))))


def evidence_in(units: Sequence[Unit], readings: Sequence[Reading]) -> dict[int, float]:
    """The places of the units that the reader marked, each with its probability, and of those
    parallel to them that it nearly marked: what a book sets side by side stands or falls
    together."""
    marked = _touched(units, readings, faint=False)
    faint = _touched(units, readings, faint=True)
    reached = list(marked)
    for place in reached:
        for beside in (place - 1, place + 1):
            if beside in faint and beside not in marked and are_parallel(units, place, beside):
                marked[beside] = faint[beside]
                reached.append(beside)
    return marked


def _touched(
    units: Sequence[Unit], readings: Sequence[Reading], *, faint: bool
) -> dict[int, float]:
    evidence: dict[int, float] = {}
    marked = [one for each in readings for one in each.evidence if one.faint == faint]
    for place, unit in enumerate(units):
        for found in marked:
            if found.start < unit.end and unit.start < found.end and unit.kind != "heading":
                evidence[place] = max(found.score, evidence.get(place, 0.0))
    return evidence


def units_in(passage: Passage) -> list[Unit]:
    return units_of(without_instructions(passage.text))


def _beginning(units: Sequence[Unit]) -> list[int]:
    chosen: list[int] = []
    words = 0
    for place, unit in enumerate(units):
        words += unit.words
        if chosen and (words > MOST_WORDS or unit.lines > MOST_LINES):
            break
        if unit.kind != "heading":
            chosen.append(place)
    return chosen


def rendered(passage: Passage, units: Sequence[Unit], chosen: Sequence[int]) -> Iterator[Quote]:
    """The units at the chosen places as quotations."""
    for _, group in groupby(chosen, key=lambda place: (units[place].block, units[place].kind)):
        places = list(group)
        block = [units[place] for place in places]
        kind = block[0].kind
        if kind == "heading":
            yield Quote(f"**{shown(block[0])}**", passage, block[0].start, block[0].end, term=True)
        elif kind == "row":
            yield Quote(_table(block), passage, block[0].start, block[-1].end)
        elif kind == "item":
            for at, unit in enumerate(block):
                for line_number, line in enumerate(item_lines(unit, alone=len(block) == 1)):
                    gap = "\n" if at or line_number else "\n\n"
                    yield Quote(line, passage, unit.start, unit.end, gap)
        elif kind == "code":
            before = places[0] - 1
            introduced = before in chosen and units[before].kind != "heading"
            yield Quote(shown(block[0]), passage, block[0].start, block[0].end, "\n\n", introduced)
        else:
            for at, unit in enumerate(block):
                gap = " " if at else "\n\n"
                yield Quote(shown(unit), passage, unit.start, unit.end, gap)


def _table(rows: Sequence[Unit]) -> str:
    """A table under its head; rows whose head stands elsewhere as a list."""
    lines = [shown(row) for row in rows]
    heads = sum(row.head for row in rows)
    if not heads:
        return "\n".join(f"- {' – '.join(filter(None, cells_of(line)))}" for line in lines)
    lines.insert(heads, "|---" * (lines[0].count("|") - 1) + "|")
    return "\n".join(lines)


def was_shown_before(quote: Quote, answers: Sequence[str]) -> bool:
    """Whether an earlier answer of the conversation shows the same words, however they are set."""
    words = _words_only(quote.text)
    return any(words in _words_only(MARKER.sub("", answer)) for answer in answers)


def _words_only(text: str) -> str:
    return f" {' '.join(WORD.findall(text.replace('_', ' ')))} "


def continues_in_next(quotes: Sequence[Quote]) -> bool:
    """Whether the last words shown are the last of their passage and ask for more: a sentence that
    announces something, or a step."""
    if not quotes or quotes[-1].passage.metadata.next_chunk_id is None:
        return False
    last = units_in(quotes[-1].passage)[-1]
    return quotes[-1].end >= last.end and (last.announces or bool(last.number))


def continuation(passage: Passage, following: Passage) -> list[Quote]:
    """The block with which the next passage goes on."""
    done = passage.metadata.spans[-1].end
    units = [unit for unit in units_in(following) if _in_source(following, unit.start) >= done]
    if not units or units[0].kind in ("heading", "sentence"):
        return []
    last = units_in(passage)[-1]
    if last.number and not units[0].number:
        return []
    if units[0].kind == "code":
        block = [0] if units[0].lines <= MOST_LINES else []
    else:
        block = first_of_block(units, 0)
    return list(rendered(following, units, block))


def _in_source(passage: Passage, offset: int) -> int:
    """Where a character of the text stands in the file."""
    span = next(span for span in reversed(passage.metadata.spans) if span.at <= offset)
    return span.start + offset - span.at
