"""Conversations that are kept: their bounds, the archive, what is deleted stays so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.engine import open_database
from bythebook.errors import InputError
from bythebook.models.conversation import ConversationThread, Turn
from bythebook.models.values import new_id
from bythebook.threads import StartedByAnother, Threads
from models.samples import UUID1, answer, refusal
from threads.thread_tools import names, rows_left, start, stored, turn

AT = datetime(2025, 12, 17, 14, 20, tzinfo=UTC)
EVERYTHING = timedelta(seconds=-60)


async def test_a_conversation_comes_back_as_it_was(threads: Threads) -> None:
    thread_id = new_id()
    told = [Turn.of(answer(), AT), Turn.of(refusal())]
    assert await threads.append(thread_id, told[0], metadata={"key": "k", "n": 1}, is_new=True)
    assert await threads.append(thread_id, told[1], metadata={"key": "other"}, is_new=False)
    thread = await threads.load(thread_id)
    assert thread is not None and not thread.is_archived
    assert thread.metadata == {"key": "k", "n": 1}
    talk = thread.conversation
    assert (talk.id, talk.created_at, talk.earlier, talk.count) == (thread_id, AT, 0, 2)
    assert talk.topic_summary == ""
    for kept, said in zip(talk.turns, told, strict=True):
        assert (kept.question, kept.answer) == (said.question, said.answer)
        assert (kept.sources, kept.citations) == (said.sources, said.citations)
        assert (kept.refused, kept.confidence) == (said.refused, said.confidence)
        assert (kept.asked_at, kept.answered_at) == (said.asked_at, said.answered_at)
    assert told[0].citations and told[1].refused


async def test_the_view_is_that_of_the_conversation(threads: Threads) -> None:
    thread_id = new_id()
    await start(threads, thread_id, 6)
    thread = await threads.load(thread_id)
    assert thread is not None
    view = await threads.view(thread_id)
    assert view == ConversationThread.of(thread.conversation, {"by": "me"})
    assert view is not None and len(view.messages) == 12
    assert view.created_at.tzinfo == UTC and view.updated_at == view.messages[-1].timestamp


async def test_nobody_knows_it(threads: Threads, engine: AsyncEngine) -> None:
    for unknown in (new_id(), UUID1, "x", "", "00000000-0000-0000-0000-000000000000'"):
        assert await threads.load(unknown) is None
        assert await threads.view(unknown) is None
        assert await threads.delete(unknown) is False
    for unusable in (UUID1, "x"):
        with pytest.raises(InputError):
            await threads.append(unusable, turn(0), metadata={}, is_new=True)
    assert await rows_left(engine) == [0, 0, 0]


async def test_an_id_may_be_written_in_capitals(threads: Threads) -> None:
    thread_id = new_id()
    await start(threads, thread_id.upper())
    assert await threads.append(thread_id, turn(1), metadata={}, is_new=False)
    thread = await threads.load(thread_id.upper())
    assert thread is not None and (thread.conversation.id, thread.conversation.count) == (
        thread_id,
        2,
    )


async def test_two_first_messages_are_both_kept_unless_by_others(threads: Threads) -> None:
    thread_id = new_id()
    for name in ("a", "b"):
        assert await threads.append(thread_id, turn(name), metadata={"by": "a"}, is_new=True)
    with pytest.raises(StartedByAnother) as refused:
        await threads.append(thread_id, turn("c"), metadata={"by": "c"}, is_new=True)
    assert refused.value.metadata == {"by": "a"}
    thread = await threads.load(thread_id)
    assert thread is not None and thread.metadata == {"by": "a"}
    assert [kept.question for kept in thread.conversation.turns] == ["Question a?", "Question b?"]


@pytest.mark.parametrize("turns", [1, 24, 25, 26, 40])
async def test_at_most_fifty_messages_are_live(
    threads: Threads, engine: AsyncEngine, turns: int
) -> None:
    thread_id = new_id()
    await start(threads, thread_id, turns)
    assert names(await stored(engine, thread_id)) == [str(number) for number in range(turns)]
    gone = max(0, turns - 25)
    assert await rows_left(engine) == [1, 0, 2 * gone]
    thread = await threads.load(thread_id)
    assert thread is not None
    assert (thread.conversation.earlier, thread.conversation.count) == (gone, turns)
    view = await threads.view(thread_id)
    assert view is not None and len(view.messages) == 2 * min(turns, 25)
    assert view.messages[0].content == f"Question {gone}?"


async def test_a_summary_from_the_fifth_exchange_on(threads: Threads) -> None:
    thread_id = new_id()
    for number in range(30):
        await threads.append(thread_id, turn(number), metadata={}, is_new=number == 0)
        view = await threads.view(thread_id)
        assert view is not None and bool(view.topic_summary) == (number >= 4)
        if view.topic_summary:
            assert len(view.topic_summary) <= 200 and f"Page {number}" in view.topic_summary


async def test_a_clock_that_is_set_back(threads: Threads, engine: AsyncEngine) -> None:
    thread_id = new_id()
    for name, minutes in (("a", 9), ("b", 0), ("c", 5)):
        at = AT + timedelta(minutes=minutes)
        said = turn(name, at, at + timedelta(seconds=2))
        await threads.append(thread_id, said, metadata={}, is_new=name == "a")
    assert names(await stored(engine, thread_id)) == ["a", "b", "c"]
    view = await threads.view(thread_id)
    assert view is not None and view.created_at == AT + timedelta(minutes=9)
    assert view.updated_at == AT + timedelta(minutes=9, seconds=2)


async def test_characters_that_a_database_refuses(threads: Threads) -> None:
    thread_id = new_id()
    odd = Turn("nul \0, half \ud83d, whole 😀 — ' \" \\u0000 ?", "Ä\0. [1]")
    for _ in range(5):
        assert await threads.append(thread_id, odd, metadata={}, is_new=True)
    view = await threads.view(thread_id)
    assert view is not None and view.topic_summary is not None
    kept = "nul \ufffd, half \ufffd, whole 😀 — ' \" \\u0000 ?"
    assert (view.messages[0].content, view.messages[1].content) == (kept, "Ä\ufffd. [1]")
    assert kept in view.topic_summary


async def test_only_idle_threads_are_archived(threads: Threads, engine: AsyncEngine) -> None:
    old, new = new_id(), new_id()
    await threads.append(old, turn("old", AT), metadata={"by": "me"}, is_new=True)
    await start(threads, new)
    before = [await threads.view(old), await threads.view(new)]
    assert await threads.archive_idle(timedelta(hours=1)) == 1
    assert await threads.archive_idle(timedelta(hours=1)) == 0
    assert await rows_left(engine) == [1, 1, 0]
    assert [await threads.view(old), await threads.view(new)] == before
    archived, live = await threads.load(old), await threads.load(new)
    assert archived is not None and archived.is_archived and archived.metadata == {"by": "me"}
    assert live is not None and not live.is_archived


@pytest.mark.parametrize("is_new", [False, True])
async def test_an_archived_thread_comes_back_when_used(
    threads: Threads, engine: AsyncEngine, is_new: bool
) -> None:
    thread_id = new_id()
    await start(threads, thread_id, 30)
    before = await threads.view(thread_id)
    assert await threads.archive_idle(EVERYTHING) == 1
    assert await threads.append(thread_id, turn(30), metadata={"by": "me"}, is_new=is_new)
    assert await rows_left(engine) == [1, 0, 12]
    thread = await threads.load(thread_id)
    assert before is not None and thread is not None and not thread.is_archived
    assert thread.metadata == {"by": "me"} and thread.conversation.count == 31
    assert thread.conversation.created_at == before.created_at
    assert names(await stored(engine, thread_id)) == [str(number) for number in range(31)]


@pytest.mark.parametrize("archived", [False, True])
async def test_what_is_deleted_stays_deleted(
    threads: Threads, engine: AsyncEngine, archived: bool
) -> None:
    thread_id, other = new_id(), new_id()
    await start(threads, thread_id, 30)
    await start(threads, other, 26)
    if archived:
        assert await threads.archive_idle(EVERYTHING) == 2
    assert await threads.delete(thread_id) is True
    assert await threads.delete(thread_id) is False
    assert await threads.append(thread_id, turn(30), metadata={}, is_new=False) is False
    assert await threads.load(thread_id) is None and await threads.view(thread_id) is None
    assert await rows_left(engine) == [int(not archived), int(archived), 2]
    await start(threads, thread_id)
    thread = await threads.load(thread_id)
    assert thread is not None and thread.conversation.count == 1


async def test_nothing_is_lost_over_a_restart(threads: Threads, database_url: str) -> None:
    live, archived = new_id(), new_id()
    await start(threads, archived, 30)
    await threads.archive_idle(EVERYTHING)
    await start(threads, live, 30)
    before = [await threads.load(thread_id) for thread_id in (live, archived)]
    await threads.engine.dispose()
    again = await open_database(database_url)
    assert [await Threads(again).load(thread_id) for thread_id in (live, archived)] == before
    assert None not in before
    await again.dispose()
