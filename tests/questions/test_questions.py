"""What was asked: kept, rated, listed, counted and forgotten, in a database of each kind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.tables import asked_questions as table
from bythebook.errors import InputError
from bythebook.models.asked_question import AskedQuestion
from bythebook.models.chunk import now
from bythebook.models.conversation import Turn
from bythebook.models.values import new_id
from bythebook.questions import Questions
from bythebook.threads import Threads


@pytest.fixture
def questions(engine: AsyncEngine) -> Questions:
    return Questions(engine, keep_days=90)


def asked(**fields: Any) -> AskedQuestion:
    return AskedQuestion.model_validate(
        {
            "answer_id": new_id(),
            "asked_at": now(),
            "book_id": "tides",
            "key_id": None,
            "session_id": new_id(),
            "question": "When is the tide high?",
            "outcome": "answered",
            "confidence": 0.9,
            "confidence_level": "high",
            "nearest": ["Tides › High and low"],
            "model": "built-in",
            "milliseconds": 40,
            **fields,
        }
    )


async def count(engine: AsyncEngine) -> int:
    async with engine.connect() as connection:
        return int((await connection.execute(select(func.count()).select_from(table))).scalar_one())


async def test_a_question_is_listed_as_it_was_noted(questions: Questions) -> None:
    one = asked(nearest=["Tides", "Moon › Phases"], asked_at=datetime(2026, 1, 2, 3, tzinfo=UTC))
    await questions.note(one)
    listed = await questions.list()
    assert listed.next is None
    assert listed.items[0].model_dump() == one.model_dump(exclude={"key_id", "session_id"})


async def test_what_no_database_can_hold_does_not_stop_it(questions: Questions) -> None:
    one = asked(question="What\x00 is \ud800?")
    await questions.note(one)
    assert await questions.rate(one.answer_id, None, "down", "bad \x00 \udfff")
    (listed,) = (await questions.list()).items
    assert listed.question == "What\ufffd is \ufffd?" and listed.reason == "bad \ufffd \ufffd"


async def test_only_who_asked_may_rate_and_the_last_word_counts(questions: Questions) -> None:
    mine, nobodys = asked(key_id="aaaaaaaaaaaa"), asked()
    await questions.note(mine)
    await questions.note(nobodys)
    assert await questions.rate(mine.answer_id, "aaaaaaaaaaaa", "down", "too short")
    assert await questions.rate(mine.answer_id, "aaaaaaaaaaaa", "up", None)
    assert await questions.rate(nobodys.answer_id, None, "down", None)
    for answer_id, key_id in (
        (mine.answer_id, "bbbbbbbbbbbb"),
        (mine.answer_id, None),
        (nobodys.answer_id, "aaaaaaaaaaaa"),
        (new_id(), None),
    ):
        assert not await questions.rate(answer_id, key_id, "down", "not mine")
    rated = {one.answer_id: (one.rating, one.reason) for one in (await questions.list()).items}
    assert rated == {mine.answer_id: ("up", None), nobodys.answer_id: ("down", None)}


async def test_pages_of_the_list_hold_every_question_once(questions: Questions) -> None:
    moment = now()
    # Some at the very same moment, as from several processes.
    noted = [asked(asked_at=moment - timedelta(microseconds=number // 3)) for number in range(10)]
    for one in noted:
        await questions.note(one)
    seen: list[str] = []
    before = None
    while True:
        page = await questions.list(limit=4, before=before)
        assert len(page.items) <= 4
        seen += [one.answer_id for one in page.items]
        before = page.next
        if before is None:
            break
    assert len(seen) == len(noted) and set(seen) == {one.answer_id for one in noted}
    times = {one.answer_id: one.asked_at for one in noted}
    assert [times[one] for one in seen] == sorted(times.values(), reverse=True)


@pytest.mark.parametrize(
    "before",
    ["", "1", "x-y", "10000000000000000-0b6ff1a2-9d0c-4d6e-8f43-0f6c5e1c9a11", "1-'; DROP TABLE x"],
)
async def test_a_place_that_is_none_is_refused(questions: Questions, before: str) -> None:
    with pytest.raises(InputError) as refused:
        await questions.list(before=before)
    assert refused.value.details == {"field": "before"}


async def test_questions_are_chosen_by_what_became_of_them(questions: Questions) -> None:
    kinds: dict[str, dict[str, Any]] = {
        "good": {},
        "unsure": {"confidence": 0.65, "confidence_level": "low"},
        "unknown": {"outcome": "refused", "confidence": 0.1, "confidence_level": "insufficient"},
        "broken": {"outcome": "failed", "confidence": None, "confidence_level": None},
    }
    for name, fields in kinds.items():
        await questions.note(asked(question=name, **fields))
    bad = asked(question="bad", book_id="moon")
    await questions.note(bad)
    await questions.rate(bad.answer_id, None, "down", None)

    async def chosen(*choice: Any, **how: Any) -> set[str]:
        return {one.question for one in (await questions.list(*choice, **how)).items}

    assert await chosen("answered") == {"good", "unsure", "bad"}
    assert await chosen("refused") == {"unknown"}
    assert await chosen("failed") == {"broken"}
    assert await chosen("low") == {"unsure"}
    assert await chosen("down") == {"bad"}
    assert await chosen(books=["moon"]) == {"bad"}
    assert await chosen(books=[]) == set()
    assert await chosen() == {*kinds, "bad"}


async def test_usage_counts_days_ratings_and_times(questions: Questions) -> None:
    today = now()
    for number in range(20):
        await questions.note(asked(asked_at=today, milliseconds=(number + 1) * 10))
    yesterday = today - timedelta(days=1)
    refused = asked(asked_at=yesterday, outcome="refused", milliseconds=1)
    await questions.note(refused)
    await questions.note(asked(asked_at=yesterday, outcome="failed", milliseconds=2))
    await questions.note(asked(asked_at=today - timedelta(days=3), milliseconds=10_000))
    await questions.note(asked(asked_at=today, book_id="moon", milliseconds=10_000))
    await questions.rate(refused.answer_id, None, "down", None)
    usage = await questions.usage(3, books=["tides"])
    counts = [(one.day, one.questions, one.answered) for one in usage.days]
    first = today.date() - timedelta(days=2)
    assert counts == [(first, 0, 0), (yesterday.date(), 2, 0), (today.date(), 20, 20)]
    assert usage.days[1].refused == usage.days[1].failed == 1
    assert usage.totals.model_dump() == {
        "questions": 22, "answered": 20, "refused": 1, "failed": 1,
    }  # fmt: skip
    assert usage.feedback.model_dump() == {"up": 0, "down": 1}
    assert (usage.p50_ms, usage.p95_ms) == (90, 190)
    assert (await questions.usage(3)).totals.questions == 23
    nothing = await questions.usage(1, books=[])
    assert nothing.totals.questions == 0 and nothing.p50_ms is None and nothing.p95_ms is None


async def test_days_are_those_of_utc(questions: Questions, engine: AsyncEngine) -> None:
    """Whatever the database server takes for its own time zone."""
    if engine.dialect.name == "postgresql":
        async with engine.begin() as connection:
            await connection.exec_driver_sql(
                "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = %L', "
                "current_database(), 'Pacific/Kiritimati'); END $$"
            )
        await engine.dispose()
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    await questions.note(asked(asked_at=midnight))
    await questions.note(asked(asked_at=midnight - timedelta(microseconds=1)))
    usage = await questions.usage(2)
    assert [one.questions for one in usage.days] == [1, 1]


async def test_old_questions_are_forgotten(engine: AsyncEngine) -> None:
    questions = Questions(engine, keep_days=2)
    old, young = asked(asked_at=now() - timedelta(days=2, hours=1)), asked()
    await questions.note(old)
    await questions.note(young)
    assert await questions.forget_old() == 1
    assert [one.answer_id for one in (await questions.list()).items] == [young.answer_id]
    # Who keeps none does not keep those of before either.
    none = Questions(engine, keep_days=0)
    assert not none.are_kept and await none.forget_old() == 1
    assert await count(engine) == 0


async def test_what_is_noted_of_a_session_goes_with_it(
    questions: Questions, engine: AsyncEngine
) -> None:
    threads = Threads(engine)
    session, other = asked(), asked()
    for one in (session, other):
        turn = Turn(question=one.question, answer="At noon.", asked_at=now(), answered_at=now())
        await threads.append(one.session_id, turn, metadata={}, is_new=True)
        await questions.note(one)
    await threads.archive_idle(timedelta(0))
    assert await count(engine) == 2, "an archived session keeps its questions"
    assert await threads.delete(session.session_id)
    assert [one.answer_id for one in (await questions.list()).items] == [other.answer_id]
