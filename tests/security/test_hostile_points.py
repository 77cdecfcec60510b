"""Somebody else writes to the same Qdrant server: what is no passage of ours is left out, and told
in the log; the book goes on."""

from __future__ import annotations

import copy
import logging
import math
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from qdrant_client import AsyncQdrantClient

from booktext import WriteBook, lesson, section, small_book
from bythebook.errors import StoreError
from bythebook.index.qdrant_models import QueryRequest
from bythebook.index.qdrant_server import ServerStore
from bythebook.library import Library
from bythebook.moving.archive import export_book, import_book
from bythebook.moving.backup import back_up
from bythebook.settings import Settings
from index.test_server import scripted
from server.following import follow
from server.running import Running, running

Json = dict[str, Any]
NODES = "module-1-ros/chapter-1/01-nodes.md"
QUESTION = "What is a node?"
SECRET = "The word that opens the vault is xyzzy."
HUGE = 2**64 - 1

# What is changed in the payload of a point that is otherwise one of the book's own.
PAYLOADS: dict[str, Json] = {
    "of two books": {"book_id": ["small", "other"]},
    "a number for a text": {"text": 5},
    "an endless number": {"chapter": 2**63 - 1, "spans": []},
    "a text for a number": {"chapter": "two"},
    "an unknown tier": {"hardware_tier": 99},
    "an unknown level": {"proficiency_level": "Z9", "layer": "L77"},
    "no time": {"created_at": "yesterday", "updated_at": 7},
    "spans of nothing": {"spans": 7},
    "spans that are none": {"spans": [[1]]},
    "headings that are none": {"heading_path": 3},
    "headings in headings": {"heading_path": [["a"], {"b": 1}]},
    "a version that is none": {"version": "x"},
    "no model": {"embedding_model": None, "content_hash": "../../etc/passwd"},
    "a name that is none": {"source_file": ["a", "b"]},
}


def planted(real: Json, secret: Json) -> list[Json]:
    """Points with the vectors of a real one, so that they are found when it is."""
    vector, payload = real["vector"], real["payload"]
    made = [
        {"id": str(uuid.uuid4()), "vector": vector, "payload": {**payload, **change}}
        for change in PAYLOADS.values()
    ]
    # As a program of theirs would number its points.
    made += [{**copy.deepcopy(real), "id": number} for number in (0, 7, HUGE)]
    made += [
        {"id": str(uuid.uuid4()), "vector": vector, "payload": {"book_id": "small"}},
        {"id": str(uuid.uuid4()), "vector": {}, "payload": payload},
    ]
    # Another book's page in two books, and a link from this one to it.
    both = {**secret["payload"], "book_id": ["small", "other"]}
    made.append({"id": str(uuid.uuid4()), "vector": vector, "payload": both})
    linked = {**payload, "next_chunk_id": secret["id"], "prev_chunk_id": secret["id"]}
    made.append({**real, "payload": linked})
    words = vector["bm25"]
    for value in (0.0, -1.0, 1e30):
        other = {**vector, "bm25": {**words, "values": [value] * len(words["values"])}}
        made.append({"id": str(uuid.uuid4()), "vector": other, "payload": {"book_id": "small"}})
    return made


@pytest.fixture
async def qdrant(qdrant_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=qdrant_url, timeout=60, verify=False) as http:
        yield http


@pytest.fixture
async def up(
    home: Path, qdrant_url: str, write_book: WriteBook, tmp_path: Path
) -> AsyncIterator[Running]:
    """Two books, of which the first is attacked; the second is nobody's business."""
    settings = {"qdrant_url": qdrant_url, "collection": f"hostile-{uuid.uuid4().hex}"}
    secret = tmp_path / "other"
    secret.mkdir()
    (secret / "01-vault.md").write_text(lesson("Vault", section("Nodes", "nodes", SECRET)))
    async with running(home, books_folder=tmp_path, **settings) as service:
        library = service.service.library
        await library.ingest(write_book(small_book()), book_id="small")
        await library.ingest(secret, book_id="other")
        yield service
        await (await library.store()).drop()


def collection_of(up: Running) -> str:
    return f"/collections/{up.service.library.settings.collection}"


async def points_of(up: Running, qdrant: httpx.AsyncClient, book_id: str) -> list[Json]:
    body = {
        "filter": {"must": [{"key": "book_id", "match": {"value": book_id}}]},
        "limit": 100,
        "with_vector": True,
    }
    found = await qdrant.post(f"{collection_of(up)}/points/scroll", json=body)
    points: list[Json] = found.raise_for_status().json()["result"]["points"]
    return points


async def plant(up: Running, qdrant: httpx.AsyncClient, points: list[Json]) -> None:
    path = f"{collection_of(up)}/points"
    for point in points:  # one by one: what the server refuses takes none of the others with it
        await qdrant.put(path, json={"points": [point]}, params={"wait": "true"})


async def key_for_one(up: Running) -> dict[str, str]:
    _, text = await up.service.keys.create("reader", ["read", "chat"], ["small"])
    return {"X-API-Key": text}


async def check_reads(up: Running, headers: dict[str, str], real: Json) -> None:
    """Everything that a reader may ask for is answered from the book."""
    place = real["payload"]
    paths = ["/books", f"/context/{real['id']}", f"/lesson/{place['parent_doc_id']}"]
    paths += ["/llms.txt", "/books/small/llms.txt"]
    answers = [await up.http.get(path, headers=headers) for path in paths]
    for text in (QUESTION, "xyzzy vault", "What does the nodr do?", "What is this book about?"):
        body = {"text": text, "book_id": "small"}
        answers.append(await up.http.post("/search", json=body, headers=headers))
        body = {"message": text, "book_id": "small"}
        answers.append(await up.http.post("/chat/run", json=body, headers=headers))
    for answer in answers:
        assert answer.status_code == 200, (answer.request.url, answer.text[:300])
        assert SECRET not in answer.text
    found = await up.http.post(
        "/search", json={"text": QUESTION, "book_id": "small"}, headers=headers
    )
    passages = found.json()["results"]
    assert passages and all(math.isfinite(one["score"]) for one in passages)
    assert real["id"] in [one["id"] for one in passages], found.text[:500]


async def test_points_of_somebody_else_are_left_out(
    up: Running, qdrant: httpx.AsyncClient, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    before = await points_of(up, qdrant, "small")
    real = next(one for one in before if one["payload"]["section_title"] == "What a node is")
    headers = await key_for_one(up)
    await check_reads(up, headers, real)
    (secret,) = await points_of(up, qdrant, "other")
    await plant(up, qdrant, planted(real, secret))
    with caplog.at_level(logging.WARNING):
        await check_reads(up, headers, real)
    assert "are no passages" in caplog.text
    assert "Traceback" not in caplog.text

    # The operator works on with the book.
    library = up.service.library
    book = tmp_path / "book"
    written = (book / NODES).read_text()
    (book / NODES).write_text(written.replace("remark 3 on", "a remark on"))
    for mode in ("incremental", "full"):
        assert (await library.ingest(book, book_id="small", mode=mode)).status == "completed"
    await export_book(library, "small", tmp_path / "small.btb")
    await back_up(library, tmp_path / "all.backup")
    (book / NODES).write_text(written)
    assert (await library.ingest(book, book_id="small", mode="recreate")).status == "completed"
    after = await points_of(up, qdrant, "small")
    assert {one["id"] for one in before} <= {one["id"] for one in after}
    async with await Library.open(Settings(home=tmp_path / "elsewhere")) as elsewhere:
        await import_book(elsewhere, tmp_path / "small.btb")
        assert (await elsewhere.book("small")).total_chunks == len(before)
    await library.remove_book("small")
    assert not await points_of(up, qdrant, "small")
    assert await points_of(up, qdrant, "other")


async def test_own_points_that_were_damaged_are_made_again(
    up: Running, qdrant: httpx.AsyncClient, tmp_path: Path
) -> None:
    before = await points_of(up, qdrant, "small")
    damaged = [one for one in before if one["payload"]["source_file"] == NODES]
    changes: tuple[Json, ...] = (
        {"created_at": "yesterday", "version": "x"},
        {"heading_path": 3},
        {"text": None},
    )
    for point, change in zip(damaged, changes, strict=True):
        await plant(up, qdrant, [{**point, "payload": {**point["payload"], **change}}])
    body = {"text": QUESTION, "book_id": "small"}
    assert (await up.http.post("/search", json=body)).status_code == 200
    response = await up.http.post("/ingestion/trigger", json={"path": "book", "mode": "full"})
    done = await follow(up, response)
    assert (done["status"], done["files_failed"]) == ("completed", 0), done
    after = await points_of(up, qdrant, "small")
    texts = {one["id"]: one["payload"]["text"] for one in before}
    assert {one["id"]: one["payload"]["text"] for one in after} == texts
    found = (await up.http.post("/search", json=body)).json()["results"]
    assert damaged[0]["id"] in [one["id"] for one in found]


async def test_a_collection_put_in_the_place_of_ours_is_refused(
    up: Running, qdrant_url: str
) -> None:
    library = up.service.library
    remote = AsyncQdrantClient(url=qdrant_url, check_compatibility=False)
    name = library.settings.collection
    await remote.delete_collection(name)
    await remote.close()
    answer = await up.http.post("/search", json={"text": QUESTION, "book_id": "small"})
    assert (answer.status_code, answer.json()["error"]) == (503, "E003")
    assert (await up.http.get("/health")).status_code in (200, 503)


HIT = {"id": str(uuid.uuid4()), "version": 1, "score": 0.5}


@pytest.mark.parametrize("score", ["NaN", "Infinity", "-Infinity"])
async def test_a_score_that_is_no_number_is_left_out(score: str) -> None:
    """Qdrant makes one of a vector whose length overflows."""

    def answer(_request: httpx.Request) -> httpx.Response:
        points = f'[{{"id": "{HIT["id"]}", "version": 1, "score": {score}}}]'
        text = f'{{"result": [{{"points": {points}}}], "status": "ok", "time": 0}}'
        return httpx.Response(200, text=text, headers={"Content-Type": "application/json"})

    store, _ = scripted(answer)
    store._dimension = 1
    assert await store.query_batch([QueryRequest(query=[1.0], using="dense", limit=1)]) == [[]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"result": 5}',
        '{"result": {"points": [{"id": -1, "payload": []}], "next_page_offset": {}}}',
        "[" * 100_000,
    ],
)
async def test_an_answer_that_is_none_is_told(text: str) -> None:
    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=text, headers={"Content-Type": "application/json"})

    store, slept = scripted(answer)
    store._dimension = 1
    with pytest.raises(StoreError, match="answer that can't be read") as told:
        await store.scroll()
    assert told.value.action and not slept.times
    await _close(store)


async def _close(store: ServerStore) -> None:
    await store.close()
