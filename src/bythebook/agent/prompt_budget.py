"""Passages and history cut to what a model's context can hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, zip_longest
from typing import Any

from bythebook.extractive.completion import complete
from bythebook.extractive.quotes import evidence_in
from bythebook.extractive.units import Unit, units_of
from bythebook.models.chunk import count_words
from bythebook.models.passage import Passage
from bythebook.models.retrieval_tool import ToolResponse
from bythebook.reader.reader import Reading
from bythebook.settings.agent import AgentConfig

Items = list[Any]

# A token of English text has four bytes, of code or JSON three, of Chinese two to three.
BYTES_PER_TOKEN = 3.0
# What marks a message, a tool call or a result as such.
FRAME_TOKENS = 10
# For an answer of 150 words with a listing, where nobody said how long one may be.
ANSWER_TOKENS = 800
# The conversation gets at most so much of what passages and conversation share.
HISTORY_SHARE = 1 / 3
# Words of a passage that nobody read, because a better one surely answers.
FEW = 50
LEFT_OUT = "…"


def count_tokens(text: str) -> int:
    """An estimate that is seldom too low, for any model."""
    return int(len(text.encode()) / BYTES_PER_TOKEN) + 1


def token_budget(config: AgentConfig, *fixed: str) -> int:
    """Tokens left for conversation and passages beside the answer and what is always told."""
    answer = config.openai_max_tokens or ANSWER_TOKENS
    return config.context_tokens - answer - sum(map(count_tokens, fixed))


def fitted(
    items: Items, room: int, passages: Sequence[Passage], readings: Mapping[str, list[Reading]]
) -> Items:
    """The items of a request, cut to the room there is: the conversation from its oldest turn on,
    results of searches from their last passage on. The results of the last search come first, and
    the best passage of all is always given. `passages` are in the order of their numbers."""
    asked = max((at for at, item in enumerate(items) if item.get("role") == "user"), default=0)
    history, turn = items[:asked], items[asked:]
    results = [Result(item, passages) for item in turn if _holds_results(item)]
    room -= sum(_size(item) for item in turn if not _holds_results(item))
    history = _last_turns(history, int(room * HISTORY_SHARE))
    _choose(results, room - sum(map(_size, history)), readings)
    rendered = iter(results)
    return [
        *history,
        *(next(rendered).item() if _holds_results(item) else item for item in turn),
    ]


def _holds_results(item: Any) -> bool:
    return item.get("type") == "function_call_output" and '"results"' in str(item["output"])


def _size(item: Any) -> int:
    """Of a message, a call or an output."""
    said = [item.get(name) for name in ("content", "name", "arguments", "output")]
    texts = [one if isinstance(one, str) else json.dumps(one) for one in said if one]
    return FRAME_TOKENS + sum(map(count_tokens, texts))


def _last_turns(history: Items, room: int) -> Items:
    """The newest turns that fit. Of the last one at least the question stays, since what is asked
    now may lean on it."""
    kept: Items = []
    for at in range(len(history) - 2, -1, -2):
        turn = history[at : at + 2]
        if sum(map(_size, [*kept, *turn])) > room:
            if not kept:
                kept = [turn[0], {**turn[1], "content": LEFT_OUT}]
            break
        kept = [*turn, *kept]
    return kept


class Result:
    """One search's result; `given` are its passages as the model gets them, by their numbers."""

    def __init__(self, item: Any, passages: Sequence[Passage]) -> None:
        self._item = item
        told = json.loads(item["output"])
        self._query, self._total = told["query"], told["total_chunks_found"]
        self.found = {one["cite"]: passages[one["cite"] - 1] for one in told["results"]}
        self.given: dict[int, Passage] = {}

    def item(self) -> Any:
        numbers = {passage.id: number for number, passage in self.given.items()}
        response = ToolResponse.of(list(self.given.values()), self._query, numbers, self._total)
        return {**self._item, "output": response.to_json()}


@dataclass(frozen=True)
class _Entry:
    result: Result
    number: int
    whole: Passage


def _choose(results: Sequence[Result], room: int, readings: Mapping[str, list[Reading]]) -> None:
    """All passages whole, if they fit; else each cut, as many as fit, and then the best ones whole
    as far as there is room."""
    left = room - sum(count_tokens(ToolResponse.of([], "").to_json()) for _ in results)
    entries = list(_entries(results))
    whole = {entry.number: _cost(entry.whole) for entry in entries}
    given = {entry.number: entry.whole for entry in entries}
    if sum(whole.values()) > left:
        given = {}
        cost: dict[int, int] = {}
        for entry in entries:
            cut = _cut(entry.whole, readings.get(entry.whole.id, []))
            cost[entry.number] = _cost(cut)
            if given and cost[entry.number] > left:
                break
            left -= cost[entry.number]
            given[entry.number] = cut
        for entry in entries[: len(given)]:
            more = whole[entry.number] - cost[entry.number]
            if more <= left:
                left -= more
                given[entry.number] = entry.whole
    for entry in sorted(entries, key=lambda entry: entry.number):
        if entry.number in given:
            entry.result.given[entry.number] = given[entry.number]


def _entries(results: Sequence[Result]) -> Iterator[_Entry]:
    """The first passages of all searches, the last search's first, then the second ones; each
    passage once."""
    seen: set[int] = set()
    for rank in zip_longest(*(result.found.items() for result in reversed(results))):
        for result, found in zip(reversed(results), rank, strict=True):
            if found is not None and found[0] not in seen:
                seen.add(found[0])
                yield _Entry(result, *found)


def _cost(passage: Passage) -> int:
    return count_tokens(ToolResponse.of([passage], "").to_json())


def _cut(passage: Passage, readings: Sequence[Reading]) -> Passage:
    """Its evidence with what belongs to it and the units around, or its beginning where nobody read
    it; whole units only."""
    units = units_of(passage.text)
    if not units:
        return passage
    if readings:
        chosen = set(complete(units, evidence_in(units, readings)))
        kept = sorted(chosen | set(_around(units, chosen)))
    else:
        words = accumulate(count_words(unit.text) for unit in units)
        kept = [0, *(n for n, before in enumerate(words, 1) if before < FEW and n < len(units))]
    text = "".join(_shown(passage.text, units, kept))
    if len(text) >= len(passage.text):
        return passage
    return replace(passage, chunk=passage.chunk.model_copy(update={"text": text}))


def _around(units: Sequence[Unit], chosen: set[int]) -> Iterator[int]:
    """The unit before and behind, and the headings above. A listing that belongs to the evidence
    is there already."""
    for place in chosen:
        for beside in (place - 1, place + 1):
            if 0 <= beside < len(units) and units[beside].kind != "code":
                yield beside
    sections = {units[place].section for place in chosen}
    yield from (
        place
        for place, unit in enumerate(units)
        if unit.kind == "heading" and unit.section in sections
    )


def _shown(text: str, units: Sequence[Unit], kept: Sequence[int]) -> Iterator[str]:
    last = -1
    for place in kept:
        if place != last + 1:
            yield f"{LEFT_OUT}\n" if last < 0 else f"\n{LEFT_OUT}\n"
        elif last >= 0:
            yield text[units[last].end : units[place].start]
        yield text[units[place].start : units[place].end]
        last = place
    if last < len(units) - 1:
        yield f"\n{LEFT_OUT}"
