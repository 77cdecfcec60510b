"""Whatever a key asks for, in whatever order: what is another's is answered exactly like what does
not exist, and nothing of it is ever in a response."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from booktext import section
from bythebook.keys import Scope
from extent import examples
from server.running import Running, running

OURS, THEIRS = "quokka-book", "wombat-book"
SITE = "https://book.example.org"
# Words of the one book, and of the one key's question; nobody else may see them.
BOOK_MARK, QUESTION_MARK = "Quokka", "halibut"
QUESTION = f"What is a node, and what of the {QUESTION_MARK}?"
# Who may not see the owner's: another key for the same book sees the book, but no session.
OTHERS = ("same book", "other book", "other admin", "other site")
MCP = {"Accept": "application/json, text/event-stream"}


@dataclass
class Tenants:
    up: Running
    headers: dict[str, dict[str, str]]
    ids: dict[str, str]


def tool(name: str, **arguments: str) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def resource(uri: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}}


# Method, address and body; `{…}` stands for something of the owner's. Those that name the session,
# the answer or nothing are tried by the other key for the same book as well.
ASKED: list[tuple[str, str, Any]] = [
    ("POST", "/chat/run", {"message": "What is a node?", "book_id": "{book}"}),
    ("POST", "/chat/run", {"message": "And what else?", "session_id": "{session}"}),
    ("POST", "/chat/stream", {"message": "What is a node?", "book_id": "{book}"}),
    ("POST", "/chat/stream", {"message": "And what else?", "session_id": "{session}"}),
    ("POST", "/api/v1/agent/chat", {"message": "A node?", "metadata": {"book_id": "{book}"}}),
    ("POST", "/search", {"text": "What is a node?", "book_id": "{book}"}),
    ("GET", "/context/{passage}?book_id={book}", None),
    ("GET", "/context/{passage}?html=true&before=3&after=3", None),
    ("GET", "/lesson/{lesson}?book_id={book}", None),
    ("GET", "/lesson/{lesson}", None),
    ("GET", "/session/{session}/history", None),
    ("GET", "/session/{session}/history?html=true", None),
    ("GET", "/session/{session}/summary", None),
    ("DELETE", "/session/{session}", None),
    ("POST", "/feedback", {"answer_id": "{answer}", "rating": "down", "reason": "mine"}),
    ("GET", "/v1/models/{book}", None),
    (
        "POST",
        "/v1/chat/completions",
        {"model": "{book}", "messages": [{"role": "user", "content": "What is a node?"}]},
    ),
    ("POST", "/mcp", tool("ask", question="What is a node?", book_id="{book}")),
    ("POST", "/mcp", tool("search_knowledge_base", query="node", book_id="{book}")),
    ("POST", "/mcp", tool("get_lesson", parent_doc_id="{lesson}", book_id="{book}")),
    ("POST", "/mcp", tool("get_lesson", parent_doc_id="{lesson}")),
    ("POST", "/mcp", tool("get_context", passage_id="{passage}")),
    ("POST", "/mcp", resource("book://{book}")),
    ("POST", "/mcp", resource("book://{book}/lesson/{lesson}")),
    ("GET", "/admin/usage?book_id={book}", None),
    ("GET", "/admin/questions?book_id={book}", None),
    ("GET", "/ingestion/status?book_id={book}", None),
    ("GET", "/ingestion/status/{job}", None),
    ("GET", "/ingestion/changes?book_id={book}", None),
    ("POST", "/ingestion/trigger", {"book_id": "{book}"}),
    # What names nothing tells of the caller's own.
    ("GET", "/books", None),
    ("GET", "/info", None),
    ("GET", "/v1/models", None),
    ("POST", "/mcp", resource("bythebook://books")),
    ("GET", "/admin/usage", None),
    ("GET", "/admin/questions", None),
    ("GET", "/ingestion/status", None),
    ("GET", "/health", None),
    ("GET", "/metrics", None),
]


@pytest.fixture
async def tenants(home: Path, tmp_path: Path) -> AsyncIterator[Tenants]:
    async with running(home, rate_limit=0, reader_rate_limit=0) as up:
        for book_id, mark in ((OURS, BOOK_MARK), (THEIRS, "Wombat")):
            folder = tmp_path / book_id
            folder.mkdir()
            lesson = f"# {mark} nodes\n\n" + section(f"{mark} basics", "nodes", f"{mark} only.")
            (folder / "01-nodes.md").write_text(lesson)
            await up.service.library.ingest(folder, book_id=book_id)
        create = up.service.keys.create
        both: tuple[Scope, ...] = ("read", "chat")
        site = [SITE]
        made = {
            "owner": await create("owner", both, [OURS]),
            "same book": await create("same", both, [OURS]),
            "other book": await create("other", both, [THEIRS]),
            "other admin": await create("admin", ("admin",), [THEIRS]),
            "other site": await create("site", ("chat",), [THEIRS], origins=site),
        }
        headers = {name: {"X-API-Key": text, **MCP} for name, (_, text) in made.items()}
        headers["other site"]["Origin"] = SITE
        yield Tenants(up, headers, await ids_of(up, headers["owner"]))


async def ids_of(up: Running, owner: dict[str, str]) -> dict[str, str]:
    asked = await up.http.post("/chat/run", json={"message": QUESTION}, headers=owner)
    answer = asked.json()
    found = await up.http.post("/search", json={"text": "node"}, headers=owner)
    passage = found.json()["results"][0]
    jobs = await up.service.library.jobs(OURS, 1)
    return {
        "book": OURS,
        "session": answer["session_id"],
        "answer": answer["answer_id"],
        "passage": passage["id"],
        "lesson": passage["parent_doc_id"],
        "job": str(jobs[0].job_id),
    }


def nowhere() -> dict[str, str]:
    """Ids of the same form that nothing has."""
    made = {name: str(uuid.uuid4()) for name in ("session", "answer", "passage", "lesson")}
    return {**made, "book": "numbat-book", "job": "2000000000"}


def filled(part: Any, ids: dict[str, str]) -> Any:
    if isinstance(part, str):
        return re.sub(r"\{(\w+)\}", lambda name: ids[name[1]], part)
    if isinstance(part, dict):
        return {key: filled(value, ids) for key, value in part.items()}
    return [filled(each, ids) for each in part] if isinstance(part, list) else part


async def send(
    tenants: Tenants, who: str, asked: tuple[str, str, Any], ids: dict[str, str]
) -> httpx.Response:
    method, path, body = asked
    return await tenants.up.http.request(
        method, filled(path, ids), json=filled(body, ids), headers=tenants.headers[who]
    )


def plain(response: httpx.Response, ids: dict[str, str]) -> tuple[int, str]:
    """Without what differs from request to request, and without the ids that were asked for."""
    text = response.text
    text = re.sub(rf"\bjob {ids['job']}\b", "<job>", text)
    for name, value in ids.items():
        if name != "job":  # a number that may stand anywhere
            text = text.replace(value, f"<{name}>")
    text = re.sub(r'"(request_id|timestamp|session_id|answer_id)": ?"[^"]*"', "", text)
    return response.status_code, text


def names_anything(asked: tuple[str, str, Any]) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", asked[1] + json.dumps(asked[2])))


steps = st.lists(st.tuples(st.sampled_from(OTHERS), st.sampled_from(ASKED)), max_size=12)


@given(steps=steps)
@settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))
async def test_any_sequence_of_requests(
    tenants: Tenants, steps: list[tuple[str, tuple[str, str, Any]]]
) -> None:
    for who, asked in steps:
        await check(tenants, who, asked)
    await check_owner(tenants)


async def test_every_request_by_everybody(tenants: Tenants) -> None:
    """The drawn ones find what depends on the order; here each is made once."""
    for who in OTHERS:
        for asked in ASKED:
            await check(tenants, who, asked)
    await check_owner(tenants)


async def check(tenants: Tenants, who: str, asked: tuple[str, str, Any]) -> None:
    private = names_anything(asked) & {"session", "answer"}
    if who == "same book" and names_anything(asked) and not private:
        return  # its own book, too
    response = await send(tenants, who, asked, tenants.ids)
    assert QUESTION_MARK not in response.text, (who, asked)
    if who != "same book":
        assert BOOK_MARK not in response.text, (who, asked)
        assert OURS not in response.text or names_anything(asked), (who, asked)
    if asked[1].startswith("/chat/") and private:
        # A client may choose the id of a new session. That it is refused tells that there is such a
        # session; but nobody can guess one, and who was given one knows that.
        assert response.status_code == 404, (who, asked)
    elif names_anything(asked):
        unknown = nowhere()
        other = await send(tenants, who, asked, unknown)
        assert plain(response, tenants.ids) == plain(other, unknown), (who, asked)
        succeeded = response.status_code < 300 and "/mcp" not in asked[1]
        assert not succeeded, (who, asked)


async def check_owner(tenants: Tenants) -> None:
    """The owner still has all of it."""
    history = ("GET", "/session/{session}/history", None)
    kept = await send(tenants, "owner", history, tenants.ids)
    assert kept.status_code == 200 and QUESTION_MARK in kept.text
    assert len(kept.json()["messages"]) == 2
    noted = (await tenants.up.service.questions.list(None, books=(OURS,))).items
    assert [one.rating for one in noted] == [None]
