"""Two first questions at once with one new session id."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

from booktext import lesson, section
from bythebook.library import Library
from bythebook.settings import Settings
from server.running import running


async def test_the_second_of_two_books_is_told_that_the_session_is_taken(tmp_path: Path) -> None:
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        for name, topic in (("one", "nodes"), ("two", "cooking")):
            (tmp_path / name).mkdir()
            page = lesson("Page", section("Part", topic))
            (tmp_path / name / "01-page.md").write_text(page, encoding="utf-8")
            await library.ingest(tmp_path / name)
    async with running(tmp_path / "home") as up:
        for _ in range(3):
            session = str(uuid.uuid4())
            answers = await asyncio.gather(
                up.ask("What is a node?", session_id=session, book_id="one"),
                up.ask("How is soup cooked?", session_id=session, book_id="two"),
            )
            first, second = sorted(answers, key=lambda answer: answer.status_code)
            assert (first.status_code, second.status_code) == (200, 400)
            assert "This session is about" in second.json()["message"]
            history = await up.http.get(f"/session/{session}/history")
            assert len(history.json()["messages"]) == 2
