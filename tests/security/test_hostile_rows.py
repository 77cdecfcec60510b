"""Odd rows in PostgreSQL, of the queue and of our tables, as a stranger or a bug may leave them: a
clear error or a row that is left out, and everything else goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import pytest
from pgqueuer import Queries
from sqlalchemy import insert, text, update

from booktext import WriteBook, small_book
from bythebook.database.tables import asked_questions, books, jobs, keys, plans, shares
from bythebook.library import Library
from bythebook.models.chunk import now
from bythebook.models.job import IngestionJob
from bythebook.models.values import new_id
from bythebook.workers.job_store import JobStore
from bythebook.workers.shared_worker import ENTRYPOINT, _install, work
from postgres_server import new_database
from server.running import Running, running, until
from workers.conftest import on_servers as on_servers
from workers.fleet import write_lessons
from workers.test_steps import make_job, nothing

MB = 1_000_000
QUEUED = {"book_id": "one", "mode": "incremental", "status": "queued", "source": "/nowhere"}


@pytest.fixture
async def queue(on_servers: Library) -> AsyncIterator[Queries]:
    _, how = on_servers.engine.dialect.create_connect_args(on_servers.engine.url)
    async with asyncpg.create_pool(**how, min_size=1, max_size=2) as pool:
        await _install(pool)
        yield Queries.from_asyncpg_pool(pool)


@pytest.fixture
async def worker(on_servers: Library, queue: Queries) -> AsyncIterator[asyncio.Task[None]]:
    """It takes jobs in this process; it must still be there at the end."""
    stop = asyncio.Event()
    task = asyncio.create_task(work(on_servers, 2, stop, nothing))
    yield task
    assert not task.done(), task
    stop.set()
    await task


async def ended(library: Library, job: IngestionJob) -> IngestionJob:
    async def has_ended() -> bool:
        return (await library.job_table.get(job.job_id)).completed_at is not None

    await until(has_ended, 120)
    return await library.job_table.get(job.job_id)


async def change(library: Library, *statements: Any) -> None:
    async with library.engine.begin() as connection:
        for statement in statements:
            await connection.execute(statement)


async def count_queued(library: Library) -> int:
    async with library.engine.connect() as connection:
        return int((await connection.execute(text("SELECT count(*) FROM pgqueuer"))).scalar_one())


MESSAGES: dict[str, tuple[str, bytes | None]] = {
    "nothing": (ENTRYPOINT, None),
    "no JSON": (ENTRYPOINT, b"{"),
    "no text": (ENTRYPOINT, b"\xff\x00\xfe"),
    "no object": (ENTRYPOINT, b"[1, 2]"),
    "another object": (ENTRYPOINT, b'{"run": "rm -rf /"}'),
    "a job that is none": (ENTRYPOINT, b'{"job": 123456}'),
    "a share of none": (ENTRYPOINT, b'{"job": 123456, "share": 7}'),
    "a negative job": (ENTRYPOINT, b'{"job": -1, "share": -1}'),
    "a huge job": (ENTRYPOINT, b'{"job": %d}' % 10**30),
    "a number beyond the column": (ENTRYPOINT, b'{"job": %d, "share": %d}' % (2**31, 2**63)),
    "ten megabytes": (ENTRYPOINT, b'{"job": 123456, "more": "%s"}' % (b"x" * 10 * MB)),
    "ten megabytes of brackets": (ENTRYPOINT, b"[" * 10 * MB),
    "an unknown kind": ("os.system", b"rm -rf /"),
}


async def test_messages_that_are_none_stop_no_worker(
    on_servers: Library,
    queue: Queries,
    worker: asyncio.Task[None],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for entrypoint, payload in MESSAGES.values():
        await queue.enqueue(entrypoint, payload, 100)
    job = await make_job(on_servers, "one", str(write_lessons(tmp_path / "book", 3)))
    done = await ended(on_servers, job)
    assert (done.status, done.files_processed) == ("completed", 3)

    async def only_the_unknown_kind() -> bool:
        return await count_queued(on_servers) == 1

    await until(only_the_unknown_kind)
    assert await on_servers.job_table.list() == [done]
    assert not [one for one in caplog.records if len(one.getMessage()) > 10_000]


async def test_a_message_in_the_name_of_a_job_does_not_keep_it_from_being_done(
    on_servers: Library, queue: Queries, worker: asyncio.Task[None], tmp_path: Path
) -> None:
    folder = write_lessons(tmp_path / "book", 1)
    for number in range(1, 4):
        await queue.enqueue(ENTRYPOINT, b"{", 0, dedupe_key=f"{ENTRYPOINT}-{number}")
    done = await ended(on_servers, await make_job(on_servers, "one", str(folder)))
    assert done.status == "completed"


@pytest.mark.parametrize(
    "odd",
    [
        {"mode": "explode"},
        {"files_processed": -5},
        {"warnings": {"a": 1}},
        {"warnings": 5},
        {"changes": "none"},
        {"book_id": "../.."},
        {"source": "/etc"},
        {"source": "file:///etc/passwd"},
        {"source": "x" * 10 * MB},
    ],
    ids=lambda odd: str(odd)[:40],
)
async def test_a_job_that_can_not_be_read_is_ended_and_the_next_is_done(
    on_servers: Library,
    worker: asyncio.Task[None],
    tmp_path: Path,
    odd: dict[str, Any],
) -> None:
    folder = write_lessons(tmp_path / "book", 1)
    row = {**QUEUED, "warnings": [], "started_at": now(), **odd}
    await change(on_servers, insert(jobs).values(**row))
    done = await ended(on_servers, await make_job(on_servers, "two", str(folder)))
    assert done.status == "completed"

    async def has_failed() -> bool:
        async with on_servers.engine.connect() as connection:
            found = await connection.execute(text("SELECT status FROM jobs ORDER BY job_id"))
            return str(found.scalars().first()) == "failed"

    await until(has_failed)
    assert done in await on_servers.jobs()


@pytest.mark.parametrize("status", ["queued", "running", "completed"])
async def test_an_odd_job_keeps_no_service_from_its_work(
    tmp_path: Path, home: Path, write_book: WriteBook, postgres_url: str, status: str
) -> None:
    """The worker inside the service, and what it tells of jobs."""
    write_book(small_book())
    async with (
        new_database(postgres_url) as database,
        running(home, database_url=database, books_folder=tmp_path) as up,
    ):
        row = {**QUEUED, "status": status, "warnings": [], "started_at": now(), "mode": "explode"}
        await change(up.service.library, insert(jobs).values(**row))
        accepted = await up.http.post("/ingestion/trigger", json={"path": "book"})
        assert accepted.status_code == 202, accepted.text

        async def is_done() -> bool:
            listed = await up.http.get("/ingestion/status")
            assert listed.status_code == 200, listed.text
            return [one["status"] for one in listed.json()] == ["completed"]

        await until(is_done)
        odd = await up.http.get("/ingestion/status/1")
        assert odd.status_code in (404, 503) and odd.json()["error"] != "E000"
        await check_answers(up)


async def check_answers(up: Running) -> None:
    answer = await up.http.post("/chat/run", json={"message": "What is a node?"})
    assert answer.status_code == 200, answer.text
    assert (await up.http.get("/books")).status_code == 200
    assert (await up.http.get("/health")).status_code == 200


ODD_FILES: dict[str, Any] = {
    "a list": ["a", "b"],
    "a number": 5,
    "nothing": None,
    "a file without a place": {"module-1/chapter-1/00-lesson.md": {}},
    "another folder": {"../secret/00-vault.md": "PLACE"},
    "the machine's": {"/etc/passwd": "PLACE", "../../../../../../etc/passwd": "PLACE"},
}


@pytest.mark.parametrize("name", ODD_FILES)
async def test_an_odd_share_is_reported_and_reads_nothing_else(
    on_servers: Library,
    worker: asyncio.Task[None],
    tmp_path: Path,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = write_lessons(tmp_path / "book", 2)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "00-vault.md").write_text("# Vault\n\nIts word is xyzzy, they say.\n")
    whole = JobStore.post

    async def post(self: JobStore, job: IngestionJob, parts: Any, **more: Any) -> None:
        await whole(self, job, parts, **more)
        place = next(iter(parts[0].values()))
        wrong = ODD_FILES[name]
        if isinstance(wrong, dict):
            wrong = {file: place if due == "PLACE" else due for file, due in wrong.items()}
        await change(on_servers, update(shares).values(files=wrong))

    monkeypatch.setattr(JobStore, "post", post)
    job = await ended(on_servers, await make_job(on_servers, "one", str(folder)))
    assert job.status == "failed" or (job.files_failed > 0 and job.warnings), job
    store = await on_servers.store()
    records, _ = await store.scroll()
    assert not [
        one for one in records if "xyzzy" in str(one.payload) or "root:" in str(one.payload)
    ]
    async with on_servers.engine.connect() as connection:
        for table in (plans, shares):
            assert not (await connection.execute(table.select())).all()


ODD_ROWS: dict[str, Any] = {
    "a book": update(books).where(books.c.book_id == "other").values(background={"passages": "x"}),
    "a key": update(keys).where(keys.c.name == "odd").values(scopes={"all": 1}),
    "the sites of a key": update(keys).where(keys.c.name == "odd").values(origins=5),
    "a question": update(asked_questions).values(nearest=[5, {"a": None}]),
    "a question's links": update(asked_questions).values(nearest=5),
}


@pytest.mark.parametrize("name", ODD_ROWS)
async def test_an_odd_row_takes_nothing_else_away(
    tmp_path: Path, home: Path, write_book: WriteBook, postgres_url: str, name: str
) -> None:
    book = write_book(small_book())
    async with (
        new_database(postgres_url) as database,
        running(home, database_url=database, books_folder=tmp_path) as up,
    ):
        library = up.service.library
        await library.ingest(book, book_id="small")
        await library.ingest(book, book_id="other")
        _, good = await up.service.keys.create("good", ["admin"])
        _, odd = await up.service.keys.create("odd", ["chat"], ["small"], origins=["https://a.b"])
        up.http.headers["X-API-Key"] = good
        body = {"message": "What is a node?", "book_id": "small"}
        assert (await up.http.post("/chat/run", json=body)).status_code == 200
        await change(library, ODD_ROWS[name])
        library.known.note_change()
        assert (await up.http.post("/chat/run", json=body)).status_code == 200
        for path in ("/books", "/admin/questions", "/admin/usage", "/admin/gaps", "/admin/keys"):
            answer = await up.http.get(path, headers={"Origin": "https://a.b"})
            assert answer.status_code in (200, 404), (path, answer.text)
        assert "small" in (await up.http.get("/books")).text
        refused = await up.http.get("/books", headers={"X-API-Key": odd, "Origin": "https://c.d"})
        assert refused.status_code in (401, 403), refused.text


@pytest.mark.parametrize(
    "messages", [5, {"a": 1}, [{"role": "user"}], ["x"], [{"role": 7, "content": []}] * 2]
)
async def test_a_conversation_that_can_not_be_read_is_told(
    home: Path, write_book: WriteBook, postgres_url: str, messages: Any
) -> None:
    async with (
        new_database(postgres_url) as database,
        running(home, database_url=database) as up,
    ):
        await up.service.library.ingest(write_book(small_book()), book_id="small")
        session = (await up.ask("What is a node?")).json()["session_id"]
        odd = text("UPDATE conversation_threads SET messages = CAST(:messages AS jsonb)")
        await change(up.service.library, odd.bindparams(messages=json.dumps(messages)))
        for answer in (
            await up.ask("And what is a topic?", session_id=session),
            await up.http.get(f"/session/{session}"),
            await up.http.get(f"/session/{session}/history"),
        ):
            assert answer.status_code == 503 and answer.json()["error"] == "E003", answer.text
        assert (await up.ask("What is a node?", session_id=new_id())).status_code == 200
