"""Listening to a turn to its end."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bythebook.agent.events import Done, Event, Failed, Token
from bythebook.models.answer import Answer


async def listen(events: AsyncIterator[Event]) -> list[Event]:
    """All events; there is exactly one terminal one, and it is the last."""
    heard = [event async for event in events]
    assert [isinstance(event, Done | Failed) for event in heard] == [False] * (len(heard) - 1) + [
        True
    ]
    return heard


def answer_in(heard: list[Event]) -> Answer:
    """The answer, which is what was streamed, and cites only what it lists."""
    last = heard[-1]
    assert isinstance(last, Done), last
    answer = last.answer
    assert answer.text == "".join(event.text for event in heard if isinstance(event, Token))
    listed = {citation.number for citation in answer.citations}
    assert listed == {number for each in answer.sentences for number in each.citations}
    for sentence in answer.sentences:
        shown = answer.text[sentence.start : sentence.end]
        assert all(f"[{number}]" in shown for number in sentence.citations)
    for citation in answer.citations:
        assert citation.quote.strip() and citation.passage in answer.passages
    return answer
