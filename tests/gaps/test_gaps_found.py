"""Gaps of what a database of each kind keeps."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook import gaps as gaps_module
from bythebook.database.tables import asked_questions as table
from bythebook.gaps import Gaps
from bythebook.models.chunk import now
from bythebook.models.values import new_id
from bythebook.questions import Questions
from bythebook.threads import Threads
from questions.test_questions import asked

REFUSED: dict[str, Any] = {
    "outcome": "refused",
    "confidence": 0.1,
    "confidence_level": "insufficient",
}
LOW: dict[str, Any] = {"outcome": "answered", "confidence": 0.6, "confidence_level": "low"}
SECTION = {"title": "Ovens › Heat", "url": "https://b.example/ovens#heat"}


async def note(questions: Questions, question: str, **fields: Any) -> str:
    one = asked(question=question, **{**REFUSED, **fields})
    await questions.note(one)
    return one.answer_id


async def test_refused_and_unsure_questions_are_grouped(engine: AsyncEngine) -> None:
    questions = Questions(engine, keep_days=90)
    session, moment = new_id(), now()
    first = await note(questions, "How do I bake bread?", session_id=session, nearest=[SECTION])
    await note(questions, "how do I bake bread", session_id=session, nearest=["Noted before"])
    last = await note(questions, "baking a loaf of bread", nearest=[SECTION, "Moon"], **LOW)
    await note(questions, "Who wrote this book?", asked_at=moment - timedelta(days=3))
    await questions.note(asked(question="How do I bake bread?"))
    await note(questions, "How do I bake bread?", outcome="failed", confidence_level=None)
    await questions.rate(first, None, "down", "nothing about bread")
    await questions.rate(last, None, "up", None)

    found = await Gaps(questions, threads=1).find(30, 20)
    bread, author = found.gaps
    assert (found.questions, found.groups, found.left_out, found.days) == (4, 2, 0, 30)
    assert (bread.asked, bread.sessions, bread.refused, bread.low) == (3, 2, 2, 1)
    assert bread.question == "How do I bake bread?" and bread.different == 2
    assert bread.wordings == ["baking a loaf of bread"]
    assert bread.nearest is not None and bread.nearest.model_dump() == SECTION
    assert (bread.up, bread.down, bread.reasons) == (1, 1, ["nothing about bread"])
    assert bread.last_asked >= moment and author.question == "Who wrote this book?"

    few = await Gaps(questions, threads=1).find(2, 1)
    assert [gap.asked for gap in few.gaps] == [3] and few.groups == 1


async def test_what_was_noted_before_there_were_links(engine: AsyncEngine) -> None:
    questions = Questions(engine, keep_days=90)
    await note(questions, "How do I bake bread?")
    async with engine.begin() as connection:
        await connection.execute(update(table).values(nearest=["Ovens", "Moon"]))
    (gap,) = (await Gaps(questions, threads=1).find(30, 20)).gaps
    assert gap.nearest is not None and gap.nearest.model_dump() == {"title": "Ovens", "url": None}
    (listed,) = (await questions.list()).items
    assert [section.title for section in listed.nearest] == ["Ovens", "Moon"]


async def test_books_are_kept_apart(engine: AsyncEngine) -> None:
    questions = Questions(engine, keep_days=90)
    for book in ("tides", "moons"):
        await note(questions, "How do I bake bread?", book_id=book)
    gaps = Gaps(questions, threads=1)
    assert [(gap.book_id, gap.asked) for gap in (await gaps.find(30, 20)).gaps] == [
        ("moons", 1),
        ("tides", 1),
    ]
    (only,) = (await gaps.find(30, 20, books=("moons",))).gaps
    assert only.book_id == "moons"
    assert (await gaps.find(30, 20, books=())).questions == 0


async def test_what_was_kept_too_long_is_not_shown(engine: AsyncEngine) -> None:
    """Also where no service is running that deletes it."""
    await note(Questions(engine, 90), "How do I bake bread?", asked_at=now() - timedelta(days=8))
    for keep, days, count in ((90, 30, 1), (90, 7, 0), (7, 30, 0), (0, 30, 0)):
        found = await Gaps(Questions(engine, keep), threads=1).find(days, 20)
        assert found.questions == count and found.days == min(keep, days)


async def test_a_deleted_session_is_in_no_gap(engine: AsyncEngine) -> None:
    questions = Questions(engine, keep_days=90)
    mine, others = new_id(), new_id()
    for session in (mine, mine, others):
        await note(questions, "How do I bake bread?", session_id=session)
    gaps = Gaps(questions, threads=1)
    assert (await gaps.find(30, 20)).gaps[0].asked == 3
    await Threads(engine).delete(mine)
    assert len(gaps.vectors) == 1
    gaps.forget()
    assert not gaps.vectors, "nor is anything of its questions held for long"
    assert (await gaps.find(30, 20)).gaps[0].asked == 1


@pytest.mark.parametrize("in_background", [False, True])
async def test_only_the_newest_of_very_many(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch, in_background: bool
) -> None:
    monkeypatch.setattr(gaps_module, "MOST", 3)
    monkeypatch.setattr(gaps_module, "FEW", 1)
    questions = Questions(engine, keep_days=90)
    for hours, text in enumerate(["Who?", "How do I bake bread?", "What is a lidar?", "Why rain?"]):
        await note(questions, text, asked_at=now() - timedelta(hours=hours))
    gaps = Gaps(questions, threads=1, in_background=in_background)
    for _ in range(2):
        found = await gaps.find(30, 20)
        assert (found.questions, found.groups, found.left_out) == (4, 3, 1)
        assert "Why rain?" not in [gap.question for gap in found.gaps]
