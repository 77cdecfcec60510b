"""Books that an operator adds, renames and removes over HTTP, and pages of them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.running import Running, running, until

VALVES = "# Valves\n\n## Purpose\n\nA valve controls the flow of water through a copper pipe.\n"
PUMPS = "# Pumps\n\n## Purpose\n\nA pump lifts water from the deep well into the tank.\n"
BOOKS = "/admin/books"


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(tmp_path / "home", books_folder=tmp_path / "shelf") as service:
        yield service


async def put(up: Running, path: str, content: bytes | str, **how: Any) -> httpx.Response:
    return await up.http.put(f"{BOOKS}/{path}", content=content, **how)


async def read(up: Running, to: str = BOOKS, /, **body: Any) -> dict[str, Any]:
    """Start a job, and wait until it has ended."""
    started = await up.http.post(to, json=body)
    assert started.status_code == 202, started.text
    return await ended(up, started.json())


async def ended(up: Running, job: dict[str, Any]) -> dict[str, Any]:
    async def has_ended() -> dict[str, Any] | None:
        found: dict[str, Any] = (await up.http.get(f"/ingestion/status/{job['job_id']}")).json()
        return found if found["status"] in ("completed", "failed") else None

    found: dict[str, Any] = await until(has_ended)
    return found


async def only_book(up: Running) -> dict[str, Any]:
    (book,) = (await up.http.get(BOOKS)).json()["books"]
    found: dict[str, Any] = book
    return found


async def found(up: Running, words: str) -> set[str]:
    """The pages that a search comes upon."""
    answer = await up.http.post("/search", json={"text": words})
    return {result["source_file"] for result in answer.json()["results"]}


def zipped(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


async def test_an_uploaded_book_from_its_files_to_its_end(up: Running, tmp_path: Path) -> None:
    assert (await put(up, "water/files/valves.md", VALVES)).json() == {"files": ["valves.md"]}
    waiting = await only_book(up)
    assert (waiting["book_id"], waiting["updated_at"]) == ("water", None)
    folder = tmp_path / "home" / "uploads" / "water"
    assert Path(waiting["source"]) == folder.resolve()
    done = await read(up, book_id="water", title="Water at Home")
    assert (done["status"], done["files_processed"]) == ("completed", 1)
    assert await found(up, "a valve controls the flow") == {"valves.md"}
    assert (await only_book(up))["title"] == "Water at Home"

    # Another file, and a new text of the first.
    await put(up, "water/files/part/pumps.md", PUMPS)
    await put(up, "water/files/valves.md", VALVES.replace("copper", "bronze"))
    done = await read(up, "/ingestion/trigger", book_id="water")
    assert (done["files_processed"], done["error_message"]) == (2, None)
    assert await found(up, "a pump lifts water") == {"part/pumps.md", "valves.md"}
    renamed = await up.http.patch(f"{BOOKS}/water", json={"title": "  Plumbing\n"})
    assert renamed.json()["title"] == "Plumbing"
    await read(up, "/ingestion/trigger", book_id="water", mode="full")
    assert (await up.http.get("/books")).json()[0]["title"] == "Plumbing"

    pages = (await up.http.get(f"{BOOKS}/water/pages")).json()
    assert [page["page"] for page in pages] == ["part/pumps.md", "valves.md"]
    missing = await up.http.delete(f"{BOOKS}/water/pages/taps.md")
    assert missing.status_code == 404 and "taps.md" in missing.json()["message"]
    left = await up.http.delete(f"{BOOKS}/water/pages/part/pumps.md")
    assert (left.status_code, left.json()["files"]) == (200, 1)
    assert await found(up, "a pump lifts water") == {"valves.md"}
    only = await up.http.delete(f"{BOOKS}/water/pages/valves.md")
    assert only.status_code == 400 and "whole book" in only.json()["suggested_action"]

    assert (await up.http.delete(f"{BOOKS}/water")).status_code == 204
    assert (await up.http.get(BOOKS)).json()["books"] == [] and not folder.exists()
    assert (await up.http.delete(f"{BOOKS}/water")).status_code == 404
    # The title went with the book.
    await put(up, "water/files/pumps.md", PUMPS)
    await read(up, book_id="water")
    assert (await only_book(up))["title"] == "Water"


async def test_a_page_of_a_folder_stays_removed(up: Running, tmp_path: Path) -> None:
    folder = tmp_path / "shelf" / "water"
    folder.mkdir(parents=True)
    (folder / "valves.md").write_text(VALVES)
    (folder / "pumps.md").write_text(PUMPS)
    await read(up, "/ingestion/trigger", path="water")
    taken = await put(up, "water/files/taps.md", VALVES)
    assert taken.status_code == 409 and "read from elsewhere" in taken.json()["message"]
    assert (await up.http.delete(f"{BOOKS}/water/pages/pumps.md")).status_code == 200
    assert (folder / "pumps.md").exists()
    for mode in ("incremental", "full", "recreate"):
        done = await read(up, "/ingestion/trigger", book_id="water", mode=mode)
        assert (done["status"], done["total_files"]) == ("completed", 1), mode
    looked = await up.http.get("/ingestion/changes", params={"book_id": "water"})
    assert looked.json()["up_to_date"]
    assert (await up.http.delete(f"{BOOKS}/water")).status_code == 204
    await read(up, "/ingestion/trigger", path="water")
    assert (await only_book(up))["files"] == 2


async def test_a_removed_page_is_brought_back(up: Running, tmp_path: Path) -> None:
    """Of an upload and of a folder; an uploaded file can be deleted for good, too."""
    folder = tmp_path / "shelf" / "water"
    folder.mkdir(parents=True)
    (folder / "valves.md").write_text(VALVES)
    (folder / "pumps.md").write_text(PUMPS)
    await read(up, "/ingestion/trigger", path="water")
    for name, text in (("valves.md", VALVES), ("part/pumps.md", PUMPS)):
        await put(up, f"air/files/{name}", text)
    await read(up, book_id="air")
    for book, page in (("water", "pumps.md"), ("air", "part/pumps.md")):
        place, taken = f"{BOOKS}/{book}/pages/{page}", f"{BOOKS}/{book}/removed"
        not_removed = await up.http.put(place)
        assert (
            not_removed.status_code == 404 and "/removed" in not_removed.json()["suggested_action"]
        )
        assert (await up.http.delete(place)).status_code == 200
        await read(up, "/ingestion/trigger", book_id=book)
        assert (await up.http.get(taken)).json() == {"pages": [page]}
        job = (await up.http.put(place)).json()
        done = await ended(up, job)
        assert (done["status"], done["total_files"]) == ("completed", 2)
        assert (await up.http.get(taken)).json() == {"pages": []}
    assert (await up.http.delete(f"{BOOKS}/water/removed/pumps.md")).status_code == 404
    # Uploading its file again brings a page back, too.
    await up.http.delete(f"{BOOKS}/air/pages/part/pumps.md")
    await put(up, "air/files/part/pumps.md", PUMPS)
    assert (await read(up, book_id="air"))["total_files"] == 2
    # Neither another's file nor one that is not removed is deleted.
    await up.http.delete(f"{BOOKS}/water/pages/pumps.md")
    kept = await up.http.delete(f"{BOOKS}/water/removed/pumps.md")
    assert kept.status_code == 404 and "not uploaded" in kept.json()["message"]
    assert (folder / "pumps.md").exists()
    assert (await up.http.delete(f"{BOOKS}/air/removed/valves.md")).status_code == 404
    await up.http.delete(f"{BOOKS}/air/pages/part/pumps.md")
    assert (await up.http.delete(f"{BOOKS}/air/removed/part/pumps.md")).status_code == 204
    assert not (tmp_path / "home/uploads/air/part/pumps.md").exists()
    assert (await up.http.get(f"{BOOKS}/air/removed")).json() == {"pages": []}


async def test_a_zip_of_a_folder(up: Running, tmp_path: Path) -> None:
    files = {
        "book/docs/valves.md": VALVES,
        "book/docs/pumps.md": PUMPS,
        "book/mkdocs.yml": "site_name: Water\n",
        "book/docs/logo.png": "picture",
        "book/.git/config": "hidden",
        "book/../../escaped.md": VALVES,
        "/absolute.md": VALVES,
        "__MACOSX/book/._valves.md": "resource",
    }
    kept = (await put(up, "water/files/book.zip", zipped(files))).json()
    assert kept == {"files": ["docs/pumps.md", "docs/valves.md", "mkdocs.yml"]}
    found = {path.name for path in tmp_path.rglob("*.md")}
    assert found == {"pumps.md", "valves.md"}
    await read(up, book_id="water")
    assert (await only_book(up))["files"] == 2
    nothing = await put(up, "air/files/book.zip", zipped({"a/b.txt": "no page"}))
    assert nothing.status_code == 400 and "no page of a book" in nothing.json()["message"]
    broken = await put(up, "air/files/book.zip", b"PK no archive")
    assert broken.status_code == 400 and "damaged" in broken.json()["message"]


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("water/files/notes.exe", 400, "Give files of these kinds"),
        ("water/files/..%2F..%2Fescaped.md", 400, "without `..`"),
        ("water/files/.hidden.md", 400, "begins with a dot"),
        ("water/files/a%5Cb.md", 400, "without `..`"),
        ("Water/files/a.md", 400, "book_id"),
        ("water/files/large.md", 413, "BYTHEBOOK_MAX_FILE_MB"),
    ],
)
async def test_what_is_not_kept(
    up: Running, tmp_path: Path, path: str, status: int, says: str
) -> None:
    content = b"x" * (5_000_001 if "large" in path else 10)
    refused = await put(up, path, content)
    assert refused.status_code == status and says in refused.json()["suggested_action"]
    assert not [file for file in tmp_path.rglob("*") if file.name.endswith((".md", ".exe"))]


async def test_a_body_with_many_brackets_is_a_file(up: Running) -> None:
    assert (await put(up, "water/files/a.md", VALVES + "[" * 100)).status_code == 201
    too_large = await put(up, "water/files/a.zip", b"x" * 50_000_001)
    assert too_large.status_code == 413


async def test_one_file_that_can_not_be_read_is_told(up: Running) -> None:
    await put(up, "water/files/valves.md", VALVES)
    await put(up, "water/files/broken.pdf", b"no PDF at all")
    done = await read(up, book_id="water")
    assert (done["status"], done["files_failed"]) == ("completed", 1)
    assert any("broken.pdf" in warning for warning in done["warnings"])


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({}, 400, "Neither uploaded files nor an address"),
        ({"book_id": "nobody"}, 404, "no book 'nobody'"),
        ({"address": "book.example"}, 400, "not the address"),
        ({"address": "ssh://git@book.example/x.git"}, 400, "Only addresses with http"),
        ({"book_id": "water", "title": " \n"}, 400, "line of text"),
    ],
)
async def test_what_can_not_be_added(
    up: Running, body: dict[str, str], status: int, says: str
) -> None:
    refused = await up.http.post(BOOKS, json=body)
    assert refused.status_code == status and says in refused.json()["message"]


async def test_who_may(up: Running) -> None:
    """An admin of one book works on that one, and on nothing that concerns the others."""
    await put(up, "water/files/valves.md", VALVES)
    await read(up, book_id="water")

    async def key(scope: Any, books: list[str] | None = None) -> dict[str, str]:
        _, text = await up.service.keys.create(scope, (scope,), books)
        return {"X-API-Key": text}

    chatter, other, own = (
        await key("chat"),
        await key("admin", ["air"]),
        await key("admin", ["water"]),
    )
    for method, path in (
        ("PUT", f"{BOOKS}/water/files/a.md"),
        ("PATCH", f"{BOOKS}/water"),
        ("GET", f"{BOOKS}/water/pages"),
        ("DELETE", f"{BOOKS}/water/pages/valves.md"),
        ("PUT", f"{BOOKS}/water/pages/valves.md"),
        ("GET", f"{BOOKS}/water/removed"),
        ("DELETE", f"{BOOKS}/water/removed/valves.md"),
        ("DELETE", f"{BOOKS}/water"),
    ):
        body = {"title": "Mine"} if method == "PATCH" else None
        callers: list[tuple[dict[str, str], int]] = [({}, 401), (chatter, 403), (other, 404)]
        for headers, status in callers:
            answer = await up.http.request(method, path, headers=headers, json=body)
            assert answer.status_code == status, (method, path)
    assert (await up.http.get(BOOKS, headers=other)).json()["books"] == []
    assert len((await up.http.get(BOOKS, headers=own)).json()["books"]) == 1
    away = await up.http.post(BOOKS, json={"address": "https://book.example/"}, headers=own)
    assert away.status_code == 403
    for path in ("model", "keys"):
        assert (await up.http.get(f"/admin/{path}", headers=own)).status_code == 403
    renamed = await up.http.patch(f"{BOOKS}/water", json={"title": "Ours"}, headers=own)
    assert renamed.json()["title"] == "Ours"
