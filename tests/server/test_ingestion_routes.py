"""Ingesting over HTTP: triggering, following, looking before leaping."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from booktext import lesson, section
from bythebook.models.job import BookChanges, IngestionJob
from server.following import end_of, follow
from server.running import Running, running

TRIGGER = "/ingestion/trigger"


def write(folder: Path, topic: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "01-page.md").write_text(lesson("Page", section("Part", topic)), encoding="utf-8")


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A books folder with the books `one` and `two`."""
    for name, topic in (("one", "nodes"), ("two", "cooking")):
        write(tmp_path / "shelf" / name, topic)
    return tmp_path / "shelf"


@pytest.fixture
async def up(shelf: Path, tmp_path: Path) -> AsyncIterator[Running]:
    async with running(tmp_path / "home", books_folder=shelf) as service:
        yield service


async def ingest(up: Running, **request: Any) -> dict[str, Any]:
    return await follow(up, await up.http.post(TRIGGER, json=request))


async def key(up: Running, *scopes: Any, books: list[str] | None = None) -> dict[str, str]:
    _, text = await up.service.keys.create("someone", scopes, books)
    return {"X-API-Key": text}


async def test_a_new_book_by_its_path(up: Running, shelf: Path) -> None:
    changes = await up.http.get("/ingestion/changes", params={"path": "one"})
    assert BookChanges.model_validate(changes.json()).new == ["01-page.md"]
    response = await up.http.post(TRIGGER, json={"path": "one"})
    assert IngestionJob.model_validate(response.json()).status == "queued"
    done = IngestionJob.model_validate(await follow(up, response))
    assert (done.book_id, done.status, done.files_processed) == ("one", "completed", 1)
    found = await up.http.post("/search", json={"text": "What is a node?", "book_id": "one"})
    assert found.status_code == 200 and found.json()["results"]


async def test_a_known_book_is_read_again_from_its_folder(up: Running, shelf: Path) -> None:
    await ingest(up, path="one", book_id="named")
    changes = await up.http.get("/ingestion/changes")
    assert changes.json()["up_to_date"] and changes.json()["book_id"] == "named"
    write(shelf / "one", "wheels")
    changes = await up.http.get("/ingestion/changes", params={"book_id": "named"})
    assert changes.json()["modified"] == ["01-page.md"] and not changes.json()["up_to_date"]
    done = await ingest(up, book_id="named")
    assert (done["files_processed"], done["chunks_embedded"]) == (1, 1)
    done = await ingest(up, mode="recreate")
    assert (done["mode"], done["book_id"]) == ("recreate", "named")
    listed = (await up.http.get("/ingestion/status")).json()
    assert [job["mode"] for job in listed] == ["recreate", "incremental", "incremental"]
    assert len((await up.http.get("/ingestion/status", params={"limit": 1})).json()) == 1
    other = await up.http.get("/ingestion/status", params={"book_id": "other"})
    assert other.json() == []


@pytest.mark.parametrize(
    ("request_body", "status", "field"),
    [
        ({"book_id": "unknown"}, 404, None),
        ({}, 404, None),
        ({"book_id": "No Id"}, 400, "book_id"),
        ({"book_id": "../one"}, 400, "book_id"),
        ({"book_id": ""}, 400, "book_id"),
        ({"book_id": "a\0"}, 400, "book_id"),
        ({"path": "one", "mode": "slowly"}, 400, "mode"),
        ({"path": "one", "url": "https://127.0.0.1"}, 400, "url"),
        ({"path": ""}, 400, "path"),
        ({"path": 1}, 400, "path"),
        ({"path": "../shelf/one"}, 400, "path"),
        ({"path": "/etc"}, 400, "path"),
        ({"path": "one\0"}, 400, "path"),
        ({"path": "nowhere"}, 400, "path"),
        ({"path": "x" * 1001}, 400, "path"),
        ([], 400, None),
    ],
)
async def test_what_can_not_be_ingested_is_refused(
    up: Running, request_body: Any, status: int, field: str | None
) -> None:
    response = await up.http.post(TRIGGER, json=request_body)
    assert response.status_code == status, response.text
    if field:
        assert response.json()["details"]["field"] == field
    if isinstance(request_body, dict) and request_body.keys() <= {"path", "book_id"}:
        params = {name: str(value) for name, value in request_body.items()}
        looked = await up.http.get("/ingestion/changes", params=params)
        assert looked.status_code == status, looked.text
    assert await up.service.library.jobs() == []


async def test_without_a_books_folder_no_path_is_read(tmp_path: Path, shelf: Path) -> None:
    async with running(tmp_path / "home") as service:
        for path in ("one", str(shelf / "one"), "/", "nowhere"):
            response = await service.http.post(TRIGGER, json={"path": path})
            assert response.status_code == 400
            assert "BYTHEBOOK_BOOKS_FOLDER" in response.json()["suggested_action"]


async def test_one_job_of_a_book_at_a_time(up: Running) -> None:
    await ingest(up, path="one")
    async with up.service.library.locks.writing("one"):
        running_job = await up.service.library.job_table.start("one", "full", "somewhere")
        response = await up.http.post(TRIGGER, json={"book_id": "one"})
        assert response.status_code == 409 and response.json()["error"] == "E007"
        assert response.json()["details"]["job_id"] == running_job.job_id
        assert (await ingest(up, path="two"))["status"] == "completed"


async def test_a_job_waits_for_whoever_still_writes_its_book(up: Running) -> None:
    """The last job says that it is done a moment before it lets go of the book."""
    async with up.service.library.locks.writing("one"):
        response = await up.http.post(TRIGGER, json={"path": "one", "book_id": "one"})
        status = await up.http.get(response.headers["Location"])
        assert status.json()["status"] == "queued"
    assert (await follow(up, response))["status"] == "completed"


@pytest.mark.parametrize("job_id", ["0", "-1", "1e3", "x", str(2**31), str(10**30), "1"])
async def test_a_job_that_is_not_there(up: Running, job_id: str) -> None:
    response = await up.http.get(f"/ingestion/status/{job_id}")
    assert response.status_code == (404 if job_id == "1" else 400)
    assert response.json()["details"]["field"] == "job_id"


@pytest.mark.parametrize("limit", ["0", "1001", "x", str(10**30)])
async def test_a_list_has_an_end(up: Running, limit: str) -> None:
    response = await up.http.get("/ingestion/status", params={"limit": limit})
    assert response.status_code == 400


async def test_a_failed_job_says_why(up: Running, shelf: Path) -> None:
    await ingest(up, path="one")
    (shelf / "one" / "01-page.md").write_bytes(b"\0\0")
    await up.service.library.remove_book("one")
    done = await ingest(up, path="one")
    assert done["status"] == "failed" and "can be read" in done["error_message"]
    assert (await ingest(up, path="two"))["status"] == "completed"


async def test_ingestion_needs_an_admin(up: Running) -> None:
    reader = await key(up, "read", "chat")
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", TRIGGER, {"json": {"path": "one"}}),
        ("GET", "/ingestion/status", {}),
        ("GET", "/ingestion/status/1", {}),
        ("GET", "/ingestion/changes", {"params": {"path": "one"}}),
    ]
    for method, path, options in calls:
        assert (await up.http.request(method, path, **options)).status_code == 401
        refused = await up.http.request(method, path, headers=reader, **options)
        assert refused.status_code == 403
    assert await up.service.library.jobs() == []


async def test_a_key_for_one_book_knows_no_other(up: Running) -> None:
    done = await ingest(up, path="one")
    other = await ingest(up, path="two")
    one = await key(up, "admin", books=["one"])
    listed = await up.http.get("/ingestion/status", headers=one)
    assert [job["job_id"] for job in listed.json()] == [done["job_id"]]
    own = await up.http.get(f"/ingestion/status/{done['job_id']}", headers=one)
    assert own.status_code == 200
    hidden = await up.http.get(f"/ingestion/status/{other['job_id']}", headers=one)
    nowhere = await up.http.get("/ingestion/status/99", headers=one)
    assert hidden.status_code == nowhere.status_code == 404
    assert hidden.json()["message"].replace(str(other["job_id"]), "99") == nowhere.json()["message"]
    for request in ({"book_id": "two"}, {"book_id": "two", "path": "one"}):
        assert (await up.http.post(TRIGGER, json=request, headers=one)).status_code == 404
        for place in ("/ingestion/status", "/ingestion/changes"):
            looked = await up.http.get(place, params=request, headers=one)
            assert looked.status_code == 404
    assert (await up.http.post(TRIGGER, json={"path": "two"}, headers=one)).status_code == 403
    looked = await up.http.get("/ingestion/changes", params={"path": "two"}, headers=one)
    assert looked.status_code == 403
    response = await up.http.post(TRIGGER, json={}, headers=one)
    assert response.status_code == 202 and response.json()["book_id"] == "one"


async def test_the_service_takes_up_what_the_last_one_left(shelf: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with running(home, books_folder=shelf) as service:
        await service.service.worker.stop()
        response = await service.http.post(TRIGGER, json={"path": "one"})
        job_id = response.json()["job_id"]
        left = await service.http.get(f"/ingestion/status/{job_id}")
        assert left.json()["status"] == "queued"
    async with running(home, books_folder=shelf) as service:
        assert (await end_of(service, job_id))["status"] == "completed"
