"""Fewer pieces say the same, and no sentence comes later because of it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from bythebook.agent.completions import in_larger_pieces
from bythebook.language.segmentation import UnitStream

CALL = {"index": 0, "id": "1", "function": {"name": "search", "arguments": "{}"}}


def piece(**delta: Any) -> dict[str, Any]:
    return {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def ending(reason: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": {"total": 3}}


async def merged(pieces: list[Any]) -> list[Any]:
    async def coming() -> AsyncIterator[Any]:
        for one in pieces:
            yield one

    return [one async for one in in_larger_pieces(coming())]


def said(pieces: list[Any], field: str = "content") -> str:
    return "".join(one["choices"][0]["delta"].get(field) or "" for one in pieces)


async def test_words_of_a_sentence_come_together() -> None:
    words = re.findall(r"\S+\s*", "A robot has two arms and a head. It can also see. ")
    found = await merged([piece(content=word) for word in words])
    assert [said([one]) for one in found] == [
        "A ",
        "robot has two arms and a head. ",
        "It ",
        "can also see. ",
    ]


async def test_what_is_thought_comes_as_one_thought() -> None:
    thought = [piece(reasoning_content=word) for word in ("First. ", "Then: ", "search!")]
    found = await merged([*thought, piece(tool_calls=[CALL]), ending("tool_calls")])
    assert len(found) == 3 and said(found, "reasoning_content") == "First. Then: search!"
    assert found[1] == piece(tool_calls=[CALL]) and found[2] == ending("tool_calls")


async def test_what_is_more_than_text_is_left_as_it_is() -> None:
    odd: list[Any] = [
        {"choices": []},
        {"choices": [{"index": 1, "delta": {"content": "another"}}]},
        {"choices": [{"index": 0, "delta": None}]},
        {"error": {"message": "no"}},
        "no object",
        piece(content="last word", refusal="no"),
        {"choices": [{"index": 0, "delta": {"content": "end"}, "finish_reason": "stop"}]},
    ]
    assert await merged(odd) == odd


TEXT = st.text(alphabet="ab .!?:,;\n[1]|`-é。(_*\"')", max_size=80)


@example(text="It ends. (So it does. Yes", cuts=[8, 10, 12])
@example(text="It ends. _So_ it does. Yes", cuts=[8, 10, 12])
@given(text=TEXT, cuts=st.lists(st.integers(0, 80), max_size=20))
async def test_no_sentence_is_lost_or_comes_later(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [piece(content=text[a:b]) for a, b in pairwise(places)]
    one_by_one, fewer = UnitStream(), UnitStream()
    expected: list[str] = []
    found: list[str] = []

    async def coming() -> AsyncIterator[Any]:
        for one in pieces:
            expected.extend(one_by_one.feed(said([one])))
            yield one
            assert found == expected  # before the next piece is asked for

    async for one in in_larger_pieces(coming()):
        found += fewer.feed(said([one]))
    assert [*found, *fewer.finish()] == [*expected, *one_by_one.finish()]
