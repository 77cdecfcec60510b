"""A book is recreated while it is asked about, and while its service is killed."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from booktext import TOPICS, lesson, section
from bythebook.library import Library
from bythebook.settings import Settings
from extent import FULL
from faults.conftest import Place
from faults.process import service_process
from invariants import check_invariants, content_of
from server.running import until

BOOK = "recreated"
LESSONS = 20 if FULL else 5


def write_lessons(folder: Path) -> None:
    for number in range(LESSONS):
        parts = [section(f"About {topic} {number}", topic) for topic in TOPICS]
        file = folder / BOOK / f"module-1/chapter-1/{number:02}-lesson.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(lesson(f"Lesson {number}", *parts), encoding="utf-8")


async def trigger(http: httpx.AsyncClient, mode: str) -> int:
    body = {"path": BOOK, "book_id": BOOK, "mode": mode}
    response = await http.post("/ingestion/trigger", json=body)
    assert response.is_success, response.text
    return int(response.json()["job_id"])


async def job(http: httpx.AsyncClient, number: int) -> dict[str, Any]:
    found: dict[str, Any] = (await http.get(f"/ingestion/status/{number}")).json()
    return found


async def ended(http: httpx.AsyncClient, number: int) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        found = await job(http, number)
        return found if found["completed_at"] else None

    found: dict[str, Any] = await until(look)
    assert found["status"] == "completed", found
    return found


async def ask(http: httpx.AsyncClient) -> None:
    response = await http.post("/chat/run", json={"message": "What is a node?", "book_id": BOOK})
    assert response.status_code == 200, response.text
    assert "node" in response.json()["response"] and response.json()["sources"], response.text


@pytest.mark.slow
async def test_questions_are_answered_while_a_book_is_recreated(
    place: Place, tmp_path: Path
) -> None:
    write_lessons(tmp_path / "books")
    environment = {**place.environment, "BYTHEBOOK_BOOKS_FOLDER": str(tmp_path / "books")}
    key = await place.new_key()
    async with service_process(place.home, environment, key=key) as (service, http):
        await ended(http, await trigger(http, "incremental"))
        await ask(http)
        number = await trigger(http, "recreate")
        asked = 0
        while not (await job(http, number))["completed_at"]:
            await ask(http)
            asked += 1
        assert asked, "it was over too soon to test anything"
        done = await ended(http, number)
        assert (done["files_processed"], done["chunks_embedded"]) == (LESSONS, LESSONS * 8)
        number = await trigger(http, "recreate")
        await until(lambda: begun(http, number))
        await asyncio.to_thread(service.end, signal.SIGKILL)
    async with service_process(place.home, environment, key=key) as (_, http):
        await ask(http)
        assert (await job(http, number))["status"] == "failed"
        await ended(http, await trigger(http, "incremental"))
        await ask(http)
    async with await Library.open(place.settings) as library:
        await check_invariants(library, BOOK)
        found = await content_of(library, BOOK)
    async with await Library.open(Settings(home=tmp_path / "fresh")) as library:
        await library.ingest(tmp_path / "books" / BOOK, book_id=BOOK)
        assert found == await content_of(library, BOOK)


async def begun(http: httpx.AsyncClient, number: int) -> bool:
    processed: int = (await job(http, number))["files_processed"]
    return 0 < processed < LESSONS
