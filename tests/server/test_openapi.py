"""The service keeps what its OpenAPI document promises, whatever is sent to it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from sqlalchemy import insert, select

from bythebook.database.engine import open_database
from bythebook.database.tables import books, files
from bythebook.models import examples
from bythebook.models.chat_messages import AgentResponse, ChatResponse
from bythebook.models.conversation import ConversationThread
from bythebook.models.search_messages import ContextResponse, LessonResponse, SearchResponse
from bythebook.server.app import make_app
from bythebook.server.openai_completion import ChatCompletion
from bythebook.server.routes.chat_routes import SessionSummary
from bythebook.server.sse import EVENTS
from bythebook.settings import Settings
from extent import EXAMPLES_OF_A_ROUTE, FULL
from server.running import Running, running

EXAMPLES: dict[type[BaseModel], dict[str, Any]] = {
    AgentResponse: examples.AGENT,
    ChatCompletion: examples.PIECES["completion"],
    ChatResponse: examples.CHAT,
    ContextResponse: examples.CONTEXT,
    ConversationThread: examples.HISTORY,
    LessonResponse: examples.WHOLE_LESSON,
    SearchResponse: examples.SEARCH,
    SessionSummary: examples.PIECES["summary"],
}
# A filter that names nothing in the book is an error by contract, which no schema can say.
LEFT_OUT = "positive_data_acceptance"
# What these give to a database other operations give to it too: the one keeps nothing and looks for
# a book as /v1/models/{model} does, the other keeps what /chat/run keeps. They take half the time.
SAME_FOR_ANY_DATABASE = ("/v1/chat/completions", "/chat/stream")


async def copy_catalog(source: str, target: str) -> None:
    """What the database knows of books, so that another one can serve the same index."""
    before, after = await open_database(source), await open_database(target)
    async with before.connect() as reading, after.begin() as writing:
        for table in (books, files):
            rows = (await reading.execute(select(table))).mappings().all()
            await writing.execute(insert(table), [dict(row) for row in rows])
    await before.dispose()
    await after.dispose()


@pytest.mark.slow
@pytest.mark.parametrize(
    "database_url", ["sqlite", "postgresql"] if FULL else ["sqlite"], indirect=True
)
async def test_schemathesis_finds_nothing(
    sample_home: Path, database_url: str, tmp_path: Path
) -> None:
    await copy_catalog(f"sqlite:///{sample_home / 'bythebook.db'}", database_url)
    unlimited = {"rate_limit": 0, "reader_rate_limit": 0, "key_guesses": 0}
    how = {"database_url": database_url, "webhook_secret": "a secret of the test"}
    async with running(sample_home, **how, **unlimited) as up:
        _, key = await up.service.keys.create("schemathesis", ("admin",))
        again = database_url.startswith("postgresql")
        await check(up, key, tmp_path, without=SAME_FOR_ANY_DATABASE if again else ())
        jobs = await up.http.get("/ingestion/status", headers={"X-API-Key": key})
        assert jobs.status_code == 200


async def check(up: Running, key: str, folder: Path, without: tuple[str, ...]) -> None:
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{up.server.address}/openapi.json"),
        *("--header", f"Authorization: Bearer {key}"),
        *("--exclude-checks", LEFT_OUT),
        *(word for path in without for word in ("--exclude-path", path)),
        *(
            "--max-examples",
            str(EXAMPLES_OF_A_ROUTE),
            "--request-timeout",
            "20",
            "--no-color",
            "--seed",
            "1",
        ),
    ]
    running = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await running.communicate()
    assert running.returncode == 0, output.decode()[-8000:]


def test_every_route_is_described() -> None:
    document = make_app(Settings()).openapi()
    assert set(document["paths"]) == {
        "/chat/run",
        "/chat/stream",
        "/feedback",
        "/books",
        "/admin/usage",
        "/admin/questions",
        "/admin/gaps",
        "/llms.txt",
        "/books/{book_id}/llms.txt",
        "/books/{book_id}/pages/{parent_doc_id}.md",
        "/admin/books",
        "/admin/books/{book_id}",
        "/admin/books/{book_id}/files/{path}",
        "/admin/books/{book_id}/pages",
        "/admin/books/{book_id}/pages/{page}",
        "/admin/books/{book_id}/removed",
        "/admin/books/{book_id}/removed/{page}",
        "/admin/model",
        "/admin/model/test",
        "/admin/keys",
        "/admin/keys/{key_id}",
        "/widget/settings",
        "/api/v1/agent/chat",
        "/v1/chat/completions",
        "/v1/models",
        "/v1/models/{model}",
        "/session/{session_id}/history",
        "/session/{session_id}/summary",
        "/session/{session_id}",
        "/search",
        "/context/{chunk_id}",
        "/lesson/{parent_doc_id}",
        "/source/{chunk_id}",
        "/ingestion/trigger",
        "/ingestion/status",
        "/ingestion/status/{job_id}",
        "/ingestion/changes",
        "/ingestion/webhook/github",
        "/health",
        "/info",
        "/metrics",
    }
    for path, methods in document["paths"].items():
        for route in methods.values():
            assert route["summary"], path
            assert "422" not in route["responses"], path
    for model, example in EXAMPLES.items():
        model.model_validate(example)
    stream = document["paths"]["/chat/stream"]["post"]["description"]
    assert all(f"`{name}`" in stream for name in EVENTS)
