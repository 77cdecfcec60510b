"""Health tells the truth about every dependency, soon, and nothing that is a secret."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from booktext import WriteBook
from bythebook.agent.assistant import Assistant
from bythebook.gaps import Gaps
from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.models.service_health import Dependency, Health, Info
from bythebook.questions import Questions
from bythebook.server import health
from bythebook.server.caller import Caller
from bythebook.server.catalog_cache import CatalogCache
from bythebook.server.conversations import Conversations
from bythebook.server.ingest_worker import IngestWorker
from bythebook.server.platforms.chats import Chats, Platforms
from bythebook.server.prometheus import Metrics
from bythebook.server.rate import RateLimits
from bythebook.server.routes.operation_routes import info
from bythebook.server.service import Service
from bythebook.settings import Settings
from bythebook.threads import Threads
from standins.embedding_server import EmbeddingServer, Step
from standins.llm_server import LlmServer, fails

PASSWORD = "hush-hush-hush"


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[Service]:
    """The parts of a service; the index is left to be opened by whoever needs it first."""
    chosen = Settings(**settings)
    async with AsyncExitStack() as stack:
        library = await stack.enter_async_context(await Library.open(chosen))
        assistant = await stack.enter_async_context(Assistant(library))
        rate, keys = RateLimits(chosen), Keys(library.engine)
        stack.push_async_callback(rate.close)
        worker = IngestWorker(library)
        await worker.start()
        stack.push_async_callback(worker.stop)
        threads, metrics = Threads(library.engine), Metrics()
        questions = Questions(library.engine, chosen.keep_questions_days)
        conversations = Conversations(assistant, threads, questions, metrics)
        yield Service(
            settings=chosen,
            library=library,
            assistant=assistant,
            threads=threads,
            conversations=conversations,
            questions=questions,
            platforms=Platforms(Chats(chosen, conversations, rate)),
            gaps=Gaps(questions),
            catalog_cache=CatalogCache(library),
            keys=keys,
            rate=rate,
            worker=worker,
            metrics=metrics,
        )


@pytest.fixture(autouse=True)
def _a_busy_machine_is_not_a_sick_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "TIMEOUT_SECONDS", 60.0)
    monkeypatch.setattr("bythebook.agent.language_model.CHECK_SECONDS", 60.0)


@pytest.fixture
def always_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "CACHE_SECONDS", 0.0)


class ModelList:
    """A server of which only the list of models is asked for."""

    def __init__(self) -> None:
        self.status = 200
        self.body = json.dumps({"data": [{"id": "gpt-4o-mini"}]})
        self.asked: list[str | None] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.url = ""


@pytest.fixture
def models() -> Iterator[ModelList]:
    told = ModelList()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.asked.append(self.headers["Authorization"])
            told.go_on.wait()
            body = told.body.encode()
            self.send_response(told.status)
            self.send_header("Content-Length", str(len(body)))
            with suppress(ConnectionError):  # whoever asked did not wait
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield told
    told.go_on.set()
    server.shutdown()
    server.server_close()
    thread.join()


def down(found: Health, name: str) -> Dependency:
    assert found.dependencies[name].status == "down"
    others = [one for key, one in found.dependencies.items() if key != name]
    assert all(one.status != "down" for one in others)
    return found.dependencies[name]


async def test_all_is_well_with_a_new_home() -> None:
    async with serving() as service:
        found = await service.health.check(service)
    assert found.status == "ok"
    statuses = {name: one.status for name, one in found.dependencies.items()}
    assert statuses == {
        "database": "ok",
        "index": "ok",
        "embedder": "ok",
        "language_model": "not used",
        "rate_limits": "ok",
        "worker": "ok",
    }
    used = [one for one in found.dependencies.values() if one.status == "ok"]
    assert all(one.latency_ms is not None and one.message is None for one in used)


async def test_many_who_ask_are_told_by_one_check_that_is_kept(
    models: ModelList, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "CACHE_SECONDS", 1000.0)
    async with serving(openai_base_url=models.url) as service:
        found = await asyncio.gather(*(service.health.check(service) for _ in range(50)))
        assert await service.health.check(service) is found[0]
    assert all(one is found[0] for one in found)
    assert len(models.asked) == 1


async def test_what_was_found_is_not_kept_for_long(models: ModelList, always_asks: None) -> None:
    async with serving(openai_base_url=models.url) as service:
        await service.health.check(service)
        await service.health.check(service)
    assert len(models.asked) == 2


async def test_one_who_leaves_does_not_end_it_for_the_others(models: ModelList) -> None:
    models.go_on.clear()
    async with serving(openai_base_url=models.url) as service:
        first = asyncio.create_task(service.health.check(service))
        second = asyncio.create_task(service.health.check(service))
        await asyncio.sleep(0)
        first.cancel()
        models.go_on.set()
        assert (await second).status == "ok"
    assert first.cancelled()
    assert len(models.asked) == 1


async def test_a_language_model_is_asked_with_its_key(models: ModelList) -> None:
    key = SecretStr(PASSWORD)
    async with serving(openai_base_url=models.url, openai_api_key=key) as service:
        found = await service.health.check(service)
    assert found.status == "ok"
    assert models.asked == [f"Bearer {PASSWORD}"]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, "{}", "refused the key"),
        (429, "{}", "rate limit"),
        (500, "{}", "HTTP 500"),
        (200, "<html>", "not a chat completion"),
        (200, "[]", "not a chat completion"),
    ],
)
async def test_a_language_model_that_is_of_no_use_degrades_the_service(
    models: ModelList, status: int, body: str, said: str
) -> None:
    models.status, models.body = status, body
    key = SecretStr(PASSWORD)
    async with serving(openai_base_url=models.url, openai_api_key=key) as service:
        found = await service.health.check(service)
    assert found.status == "degraded"
    assert said in (down(found, "language_model").message or "")
    assert PASSWORD not in found.model_dump_json()
    assert models.url not in found.model_dump_json()


@pytest.mark.parametrize(
    ("status", "model", "said"),
    [(404, "gpt-4o-mini", "not list its models"), (200, "other", "not list the model 'other'")],
)
async def test_a_server_with_a_poor_list_of_models_may_still_be_good(
    models: ModelList, status: int, model: str, said: str
) -> None:
    models.status = status
    async with serving(openai_base_url=models.url, openai_model=model) as service:
        found = (await service.health.check(service)).dependencies["language_model"]
    assert found.status == "ok"
    assert said in (found.message or "")


async def test_an_open_breaker_is_told(sample_home: Path, llm: LlmServer) -> None:
    llm.always(fails(500))
    settings = {"openai_base_url": llm.base_url, "retries": 0, "breaker_failures": 1}
    async with serving(**settings) as service:
        assert (await service.assistant.ask("What is ROS 2?")).status == "fallback"
        found = await service.health.check(service)
    assert "left alone" in (down(found, "language_model").message or "")
    assert found.status == "degraded"


async def test_a_model_out_of_reach_is_told_without_its_address(always_asks: None) -> None:
    with closed_port() as port:
        url = f"http://user:{PASSWORD}@127.0.0.1:{port}/v1"
        async with serving(openai_base_url=url) as service:
            found = await service.health.check(service)
    message = down(found, "language_model").message
    assert message == "The language model can't be reached: the connection was refused."


async def test_what_hangs_is_down_and_the_rest_is_told(
    models: ModelList, monkeypatch: pytest.MonkeyPatch, always_asks: None
) -> None:
    async with serving(openai_base_url=models.url) as service:
        # The index is open, the weights read.
        assert (await service.health.check(service)).status == "ok"
        models.go_on.clear()
        with monkeypatch.context() as patch:
            patch.setattr(health, "TIMEOUT_SECONDS", 0.5)
            found = await service.health.check(service)
        hanging = found.dependencies["language_model"]
        assert (hanging.status, hanging.message) == (
            "down",
            "It did not answer within 0.5 seconds.",
        )
        models.go_on.set()
        assert (await service.health.check(service)).status == "ok"


async def test_a_database_that_is_gone_is_down(home: Path, always_asks: None) -> None:
    async with serving(home=home) as service:
        assert (await service.health.check(service)).status == "ok"
        await service.library.engine.dispose()
        for file in home.glob("bythebook.db*"):
            file.unlink()
        found = await service.health.check(service)
    assert found.status == "down"
    assert down(found, "database").message == "It can't be reached or used; see the log."


async def test_an_index_that_another_has_open_is_shared(home: Path, write_book: WriteBook) -> None:
    book = write_book({"a.md": "# Tides\n\nThe moon pulls the sea."})
    async with await Library.open(Settings(home=home)) as other:
        await other.ingest(book)
        async with serving(home=home) as service:
            found = await service.health.check(service)
    assert found.status == "ok"


async def test_a_damaged_index_is_told_as_that(
    home: Path, write_book: WriteBook, always_asks: None
) -> None:
    book = write_book({"a.md": "# Tides\n\nThe moon pulls the sea."})
    async with serving(home=home) as service:
        await service.library.ingest(book)
        assert (await service.health.check(service)).status == "ok"
        (segments,) = home.rglob("segments")
        aside = segments.with_name("segments-aside")
        shutil.copytree(segments, aside)
        for part in segments.iterdir():
            shutil.rmtree(part)
        found = await service.health.check(service)
        assert "damaged" in (down(found, "index").message or "")
        shutil.copytree(aside, segments, dirs_exist_ok=True)
    shutil.rmtree(segments)
    async with serving(home=home) as service:
        found = await service.health.check(service)
    message = down(found, "index").message or ""
    assert message.startswith("The index in BYTHEBOOK_HOME")
    assert message.endswith("is gone.")


async def test_an_index_that_opens_slowly_is_not_broken_off(
    home: Path, monkeypatch: pytest.MonkeyPatch, always_asks: None
) -> None:
    async with serving(home=home) as service:
        with monkeypatch.context() as patch:
            patch.setattr(health, "TIMEOUT_SECONDS", 0.0)
            found = await service.health.check(service)
        assert found.dependencies["index"].status == "down"
        assert (await service.health.check(service)).status == "ok"
    async with await Library.open(Settings(home=home)) as library:
        assert (await library.index_info()).healthy


async def test_a_qdrant_out_of_reach_is_told_without_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bythebook.index.server_connection._DELAYS", ())
    with closed_port() as port:
        async with serving(qdrant_url=f"http://127.0.0.1:{port}") as service:
            found = await service.health.check(service)
    assert found.status == "down"
    assert down(found, "index").message == "Cannot connect to Qdrant at QDRANT_URL."


@pytest.fixture
def embeddings() -> Iterator[EmbeddingServer]:
    server = EmbeddingServer(key=PASSWORD)
    server.start()
    yield server
    server.stop()


def with_embeddings(server: EmbeddingServer, key: str = PASSWORD) -> dict[str, Any]:
    return {
        "embedder": "cohere",
        "cohere_api_key": SecretStr(key),
        "cohere_base_url": server.url,
    }


async def test_an_embedding_service_is_not_paid_for_every_look(
    embeddings: EmbeddingServer, always_asks: None
) -> None:
    async with serving(**with_embeddings(embeddings)) as service:
        assert (await service.health.check(service)).status == "ok"
        again = (await service.health.check(service)).dependencies["embedder"]
    assert "seconds ago" in (again.message or "")
    assert len(embeddings.requests) == 1


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Step(status=500), "failed with status 500."),
        (Step(status=401), "refused the key"),
        (Step(body=b"<html>"), "something other than the vectors"),
    ],
)
async def test_an_embedding_service_that_fails_is_told_at_once_and_asked_again(
    embeddings: EmbeddingServer, step: Step, said: str, always_asks: None
) -> None:
    embeddings.script(step)
    async with serving(**with_embeddings(embeddings)) as service:
        found = await service.health.check(service)
        assert found.status == "down"
        assert said in (down(found, "embedder").message or "")
        assert PASSWORD not in found.model_dump_json()
        assert (await service.health.check(service)).status == "ok"
    assert len(embeddings.requests) == 2


async def test_an_embedder_that_fails_after_a_while_is_told(always_asks: None) -> None:
    async with serving() as service:
        assert (await service.health.check(service)).status == "ok"
        await service.library.embedder.close()
        found = await service.health.check(service)
    assert found.status == "down"
    assert down(found, "embedder").message


async def test_a_worker_that_stopped_degrades_the_service() -> None:
    async with serving() as service:
        await service.worker.stop()
        found = await service.health.check(service)
    assert found.status == "degraded"
    assert "stopped" in (down(found, "worker").message or "")


async def test_a_redis_out_of_reach_degrades_the_service() -> None:
    with closed_port() as port:
        redis = SecretStr(f"redis://:{PASSWORD}@127.0.0.1:{port}/0")
        async with serving(redis_url=redis) as service:
            found = await service.health.check(service)
    assert found.status == "degraded"
    assert "Redis" in (down(found, "rate_limits").message or "")
    assert PASSWORD not in found.model_dump_json()


async def test_it_is_logged_once_that_something_went_down_and_came_back(
    models: ModelList, always_asks: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "bythebook.server.health")
    async with serving(openai_base_url=models.url) as service:
        models.status = 500
        await service.health.check(service)
        await service.health.check(service)
        models.status = 200
        await service.health.check(service)
    told = [
        (one.levelname, one.message) for one in caplog.records if "language_model" in one.message
    ]
    assert [level for level, _ in told] == ["WARNING", "INFO"]
    assert told[1][1] == "language_model is back"


async def test_info_names_the_books_of_the_caller_only(home: Path, write_book: WriteBook) -> None:
    async with serving(home=home, rate_limit=0) as service:
        book = write_book({"a.md": "# Tides\n\nThe moon pulls the sea."})
        for name in ("tides", "moons"):
            await service.library.ingest(book, book_id=name)
        key, _ = await service.keys.create("tides", ("read",), ["tides"])
        everything = await info(service, Caller(None))
        little = await info(service, Caller(key))
    assert {one.book_id for one in everything.books} == {"tides", "moons"}
    (tides,) = little.books
    assert (tides.book_id, tides.total_files) == ("tides", 1)
    assert tides.updated_at is not None
    assert "moons" not in little.model_dump_json()
    # Where it lies on the machine is nobody's business.
    assert str(book) not in little.model_dump_json()
    assert little.answerer == "built-in"
    assert little.limits.requests_per_minute is None
    assert (little.limits.chat_message_characters, little.limits.top_k) == (1000, 10)


@pytest.mark.parametrize("model", [Health, Info])
def test_the_examples_are_what_they_are_examples_of(model: type[Health | Info]) -> None:
    extra: Any = model.model_config["json_schema_extra"]
    example = model.model_validate(extra["example"])
    assert example.model_dump(mode="json", exclude_none=True) == extra["example"]


@contextmanager
def closed_port() -> Iterator[int]:
    """A port that is bound, so nobody else takes it, and on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
