"""Two first questions at once with one new session id."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from pathlib import Path

from booktext import lesson, section
from bythebook.library import Library
from bythebook.settings import Settings
from postgres_server import new_database
from server.running import Running, running


async def write_two_books(folder: Path, settings: Settings) -> None:
    async with await Library.open(settings) as library:
        for name, topic in (("one", "nodes"), ("two", "cooking")):
            (folder / name).mkdir()
            page = lesson("Page", section("Part", topic))
            (folder / name / "01-page.md").write_text(page, encoding="utf-8")
            await library.ingest(folder / name)


async def ask_both(first: Running, second: Running) -> None:
    """One of them is answered and kept, the other is told."""
    session = str(uuid.uuid4())
    answers = await asyncio.gather(
        first.ask("What is a node?", session_id=session, book_id="one"),
        second.ask("How is soup cooked?", session_id=session, book_id="two"),
    )
    answered, refused = sorted(answers, key=lambda answer: answer.status_code)
    assert (answered.status_code, refused.status_code) == (200, 400)
    assert "This session is about" in refused.json()["message"]
    history = await first.http.get(f"/session/{session}/history")
    assert len(history.json()["messages"]) == 2


async def test_the_second_of_two_books_is_told_that_the_session_is_taken(tmp_path: Path) -> None:
    await write_two_books(tmp_path, Settings(home=tmp_path / "home"))
    async with running(tmp_path / "home") as up:
        for _ in range(3):
            await ask_both(up, up)


async def test_it_is_told_by_another_service_on_the_same_database(
    tmp_path: Path, postgres_url: str
) -> None:
    async with new_database(postgres_url) as database:
        home, other = tmp_path / "home", tmp_path / "other"
        await write_two_books(tmp_path, Settings(home=home, database_url=database))
        shutil.copytree(home, other)
        async with (
            running(home, database_url=database) as first,
            running(other, database_url=database) as second,
        ):
            for _ in range(5):
                await ask_both(first, second)
