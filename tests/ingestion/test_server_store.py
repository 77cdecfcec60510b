"""A book on a real Qdrant server: the same state, the same answers as on the embedded engine."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from booktext import WriteBook, small_book
from bythebook.errors import StoreError
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.settings import Settings
from invariants import check_invariants, content_of

NODES = "module-1-ros/chapter-1/01-nodes.md"


@pytest.fixture
async def on_server(home: Path, qdrant_url: str) -> AsyncIterator[Library]:
    settings = Settings(
        home=home / "server", qdrant_url=qdrant_url, collection=f"book-{uuid.uuid4().hex}"
    )
    async with await Library.open(settings) as library:
        yield library
        await (await library.store()).drop()


async def test_the_same_answers_as_the_embedded_engine(
    on_server: Library, library: Library, write_book: WriteBook
) -> None:
    book = write_book(small_book())
    await on_server.ingest(book)
    await library.ingest(book)
    query = SearchQuery(
        text="How are topics used?", book_id="small", hardware_tier_filter=2, module_filter="ros"
    )
    here, there = await library.search(query), await on_server.search(query)
    assert [passage.id for passage in here.passages] == [passage.id for passage in there.passages]
    for one, other in zip(here.passages, there.passages, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-3)


async def test_ingest_edit_and_delete(
    on_server: Library, library: Library, write_book: WriteBook
) -> None:
    files = small_book()
    book = write_book(files)
    assert (await on_server.ingest(book)).chunks_embedded == 8
    files[NODES] = files[NODES].replace("remark 3 on topics", "quite another remark on topics")
    write_book(files)
    (book / "module-2-sim/chapter-1/01-worlds.md").unlink()
    job = await on_server.ingest(book)
    assert (job.chunks_embedded, job.files_deleted) == (1, 1)
    await check_invariants(on_server, "small")
    await library.ingest(book)
    assert await content_of(on_server, "small") == await content_of(library, "small")


async def test_a_server_that_is_not_there(home: Path, write_book: WriteBook) -> None:
    settings = Settings(
        home=home, qdrant_url="http://127.0.0.1:9", qdrant_api_key=SecretStr("sesame")
    )
    async with await Library.open(settings) as library:
        with pytest.raises(StoreError, match=r"Cannot connect to Qdrant at http://127\.0\.0\.1:9"):
            await library.ingest(write_book(small_book()))
        (job,) = await library.jobs()
        assert job.status == "failed" and "sesame" not in (job.error_message or "")
        assert await library.books() == []
