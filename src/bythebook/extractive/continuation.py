"""Where a passage ends before what it announces: the steps, list or listing of the next one."""

from __future__ import annotations

from collections.abc import Sequence

from bythebook.extractive.answer import Quote, rendered, units_in
from bythebook.extractive.completion import MOST_LINES, WHOLE_LIST
from bythebook.models.passage import Passage


def goes_on(quotes: Sequence[Quote]) -> bool:
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
    block = [place for place, unit in enumerate(units) if unit.block == units[0].block]
    words = sum(units[place].words for place in block)
    lines = sum(units[place].lines for place in block)
    fits = lines <= MOST_LINES if units[0].kind == "code" else words <= WHOLE_LIST
    return list(rendered(following, units, block)) if fits else []


def _in_source(passage: Passage, offset: int) -> int:
    """Where a character of the text stands in the file."""
    span = next(span for span in reversed(passage.metadata.spans) if span.at <= offset)
    return span.start + offset - span.at
