"""Ingesting with an embedding service, over real HTTP: failures half-way, a change of embedder."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from booktext import TOPICS, WriteBook, lesson, section, small_book
from bythebook.errors import ConfigurationError, EmbeddingError
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.settings import Settings
from invariants import check_invariants
from standins.embedding_server import EmbeddingServer, Step


@pytest.fixture
def service() -> Iterator[EmbeddingServer]:
    server = EmbeddingServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def remote(home: Path, service: EmbeddingServer) -> AsyncIterator[Library]:
    settings = Settings(
        home=home,
        embedder="openai",
        openai_api_key=SecretStr("right-key"),
        openai_base_url=f"{service.url}/v1",
    )
    async with await Library.open(settings) as library:
        yield library


def many_lessons() -> dict[str, str]:
    generator = random.Random(3)
    return {
        f"module-1/chapter-1/{number:02}-lesson.md": lesson(
            f"Lesson {number}",
            *(section(f"{topic} {number}", topic) for topic in generator.sample(list(TOPICS), 4)),
        )
        for number in range(1, 31)
    }


async def test_what_was_finished_before_a_failure_is_kept(
    remote: Library, service: EmbeddingServer, write_book: WriteBook
) -> None:
    book = write_book(many_lessons())
    refused = Step(status=400, body=b'{"error": {"message": "no"}}')
    service.script(Step(), *[refused] * 50)
    with pytest.raises(EmbeddingError):
        await remote.ingest(book, book_id="kept")
    (failed,) = await remote.jobs()
    assert failed.status == "failed" and 0 < failed.files_processed < 30
    embedded = remote.embedder.texts_embedded
    service.steps.clear()
    job = await remote.ingest(book, book_id="kept")
    assert job.files_processed == 30 - failed.files_processed
    chunks = await check_invariants(remote, "kept")
    assert embedded <= remote.embedder.texts_embedded <= len(chunks)


async def test_a_failure_at_the_first_text_leaves_no_book(
    remote: Library, service: EmbeddingServer, write_book: WriteBook
) -> None:
    service.script(*[Step(status=400, body=b"{}")] * 50)
    with pytest.raises(EmbeddingError):
        await remote.ingest(write_book(small_book()))
    assert await remote.books() == []
    assert [job.status for job in await remote.jobs()] == ["failed"]


async def test_another_embedder_needs_recreate(
    home: Path, service: EmbeddingServer, write_book: WriteBook
) -> None:
    book = write_book(small_book())
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(book)
    settings = Settings(
        home=home,
        embedder="cohere",
        cohere_api_key=SecretStr("right-key"),
        cohere_base_url=service.url,
    )
    query = SearchQuery(text="What is a node?", book_id="small", hardware_tier_filter=4)
    async with await Library.open(settings) as library:
        with pytest.raises(ConfigurationError, match="recreate"):
            await library.ingest(book)
        with pytest.raises(ConfigurationError, match="recreate"):
            await library.search(query)
        await library.ingest(book, mode="recreate")
        await check_invariants(library, "small")
        assert (await library.search(query)).passages
        info = await library.book("small")
        assert (info.embedding_model, info.dimension) == ("embed-english-v3.0", 1024)


async def test_recreate_never_takes_another_book_with_it(
    home: Path, service: EmbeddingServer, write_book: WriteBook
) -> None:
    book = write_book(small_book())
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(book)
        await library.ingest(book, book_id="other")
    settings = Settings(
        home=home,
        embedder="openai",
        openai_api_key=SecretStr("right-key"),
        openai_base_url=f"{service.url}/v1",
    )
    async with await Library.open(settings) as library:
        with pytest.raises(ConfigurationError, match="other, small"):
            await library.ingest(book, mode="recreate")
    async with await Library.open(Settings(home=home)) as library:
        await check_invariants(library, "small")
        await check_invariants(library, "other")
