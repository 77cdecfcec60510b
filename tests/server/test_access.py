"""Keys over HTTP: who gets in, to which books, how often, and what is nobody else's business."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from booktext import WriteBook
from bythebook.errors import ConfigurationError
from bythebook.models.chunk import now
from server.running import Running, running

QUESTION = "What is a service in ROS 2?"
BOOK = "physical-ai-robotics"
ROUTES = [
    ("POST", "/chat/run", {"message": QUESTION}, "chat"),
    ("POST", "/chat/stream", {"message": QUESTION}, "chat"),
    ("POST", "/api/v1/agent/chat", {"message": QUESTION}, "chat"),
    (
        "POST",
        "/feedback",
        {"answer_id": "0b6ff1a2-9d0c-4d6e-8f43-0f6c5e1c9a11", "rating": "up"},
        "chat",
    ),
    ("GET", "/session/0b6ff1a2-9d0c-4d6e-8f43-0f6c5e1c9a11/history", None, "chat"),
    ("GET", "/session/0b6ff1a2-9d0c-4d6e-8f43-0f6c5e1c9a11/summary", None, "chat"),
    ("DELETE", "/session/0b6ff1a2-9d0c-4d6e-8f43-0f6c5e1c9a11", None, "chat"),
    ("POST", "/search", {"text": QUESTION}, "read"),
    ("GET", "/context/0b6ff1a2-9d0c-4d6e-8f43-0f6c5e1c9a11", None, "read or chat"),
    ("GET", "/lesson/0b6ff1a2-9d0c-4d6e-8f43-0f6c5e1c9a11", None, "read or chat"),
    ("GET", "/books", None, "read or chat"),
    ("GET", "/info", None, "read"),
    ("POST", "/ingestion/trigger", {}, "admin"),
    ("GET", "/ingestion/status", None, "admin"),
    ("GET", "/ingestion/status/1", None, "admin"),
    ("GET", "/ingestion/changes", None, "admin"),
    ("GET", "/admin/usage", None, "admin"),
    ("GET", "/admin/questions", None, "admin"),
    ("GET", "/admin/gaps", None, "admin"),
    ("GET", "/metrics", None, "admin"),
]


async def key(up: Running, *scopes: Any, **how: Any) -> dict[str, str]:
    _, secret = await up.service.keys.create("test", scopes or ("read", "chat"), **how)
    return {"X-API-Key": secret}


@pytest.mark.parametrize(("method", "path", "body", "scope"), ROUTES)
async def test_every_route_wants_its_scope(
    up: Running, method: str, path: str, body: Any, scope: str
) -> None:
    async def status(headers: dict[str, str]) -> int:
        response = await up.http.request(method, path, json=body, headers=headers)
        if response.status_code >= 400:
            assert set(response.json()) >= {"error", "message", "suggested_action", "request_id"}
        return response.status_code

    scopes = scope.split(" or ")
    good = await key(up, scopes[-1])
    assert await status({}) == 401
    assert await status({"X-API-Key": "btb_000000000000_nonsense"}) == 401
    assert await status({"Authorization": "Basic abc"}) == 401
    assert await status(good) not in (401, 403)
    assert await status({"Authorization": f"Bearer {good['X-API-Key']}"}) not in (401, 403)
    for other in {"read", "chat", "admin"} - set(scopes):
        assert (await status(await key(up, other)) == 403) == (other != "admin")


async def test_no_key_is_needed_for_health(up: Running) -> None:
    await key(up)
    assert (await up.http.get("/health")).status_code == 200
    assert (await up.http.get("/docs")).status_code == 200
    assert (await up.http.get("/openapi.json")).status_code == 200


async def test_revoked_and_expired_keys_are_refused_at_once(up: Running) -> None:
    good = await key(up)
    assert (await up.http.get("/info", headers=good)).status_code == 200
    (known,) = await up.service.keys.list()
    await up.service.keys.revoke(known.key_id)
    refused = await up.http.get("/info", headers=good)
    assert refused.status_code == 401 and refused.headers["WWW-Authenticate"] == "Bearer"
    # Revoking the last key does not open the service.
    assert (await up.http.get("/info")).status_code == 401
    old = await key(up, expires_at=now() + timedelta(milliseconds=1))
    await asyncio.sleep(0.01)
    assert (await up.http.get("/info", headers=old)).status_code == 401


async def test_a_key_for_one_book_reads_no_other(up: Running) -> None:
    ours = await key(up, "read", "chat", books=[BOOK])
    others = await key(up, "read", "chat", books=["another-book"])
    admin_of_other = await key(up, "admin", books=["another-book"])
    found = await up.http.post("/search", json={"text": QUESTION}, headers=ours)
    assert found.status_code == 200
    passage = found.json()["results"][0]
    session = (await up.http.post("/chat/run", json={"message": QUESTION}, headers=ours)).json()
    for bad in (others, admin_of_other):
        for method, path, body in (
            ("POST", "/search", {"text": QUESTION, "book_id": BOOK}),
            ("POST", "/search", {"text": QUESTION}),
            ("POST", "/chat/run", {"message": QUESTION, "book_id": BOOK}),
            ("POST", "/chat/run", {"message": QUESTION, "session_id": session["session_id"]}),
            ("POST", "/api/v1/agent/chat", {"message": QUESTION, "metadata": {"book_id": BOOK}}),
            ("GET", f"/context/{passage['id']}?book_id={BOOK}", None),
            ("GET", f"/lesson/{passage['parent_doc_id']}?book_id={BOOK}", None),
            ("GET", f"/session/{session['session_id']}/history", None),
            ("DELETE", f"/session/{session['session_id']}", None),
        ):
            response = await up.http.request(method, path, json=body, headers=bad)
            assert response.status_code == 404, path
            assert "ROS" not in response.text
        assert (await up.http.get("/info", headers=bad)).json()["books"] == []


async def test_other_books_are_not_even_named(up: Running, write_book: WriteBook) -> None:
    pages = {"a.md": "# Secret plans\n\nNobody knows."}
    await up.service.library.ingest(write_book(pages), book_id="secret")
    every, ours = await key(up), await key(up, books=[BOOK])
    two = await key(up, books=[BOOK, "not-there-yet"])
    body = {"text": QUESTION}
    several = await up.http.post("/search", json=body, headers=every)
    assert several.status_code == 400 and several.json()["details"] == {"field": "book_id"}
    for headers in (ours, two):
        assert (await up.http.post("/search", json=body, headers=headers)).status_code == 200
        info = await up.http.get("/info", headers=headers)
        assert [book["book_id"] for book in info.json()["books"]] == [BOOK]
        for wrong in ("secret", "not-there-yet", "../x"):
            named = {**body, "book_id": wrong}
            answer = await up.http.post("/search", json=named, headers=headers)
            assert answer.status_code == 404 and "Secret" not in answer.text
    await up.service.library.remove_book("secret")


async def test_a_session_is_the_keys_own(up: Running) -> None:
    first, second, admin = await key(up), await key(up), await key(up, "admin")
    asked = await up.http.post("/chat/run", json={"message": QUESTION}, headers=first)
    path = f"/session/{asked.json()['session_id']}"
    assert (await up.http.get(f"{path}/history", headers=second)).status_code == 404
    assert (await up.http.delete(path, headers=second)).status_code == 404
    body = {"message": QUESTION, "session_id": asked.json()["session_id"]}
    assert (await up.http.post("/chat/run", json=body, headers=second)).status_code == 404
    assert (await up.http.get(f"{path}/history", headers=admin)).status_code == 200
    assert (await up.http.delete(path, headers=first)).status_code == 204


async def test_a_key_is_used_up_and_told_when_to_come_back(serve: Any) -> None:
    async with serve(rate_limit=3) as up:
        good, other = await key(up), await key(up)
        left = []
        for _ in range(3):
            response = await up.http.get("/info", headers=good)
            assert response.status_code == 200
            left.append(response.headers["X-RateLimit-Remaining"])
        assert left == ["2", "1", "0"]
        refused = await up.http.get("/info", headers=good)
        assert refused.status_code == 429 and refused.json()["error"] == "E010"
        assert refused.headers["X-RateLimit-Limit"] == "3"
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert int(refused.headers["X-RateLimit-Reset"]) >= now().timestamp() - 1
        assert (await up.http.get("/info", headers=other)).status_code == 200
        figures = (await up.http.get("/metrics", headers=await key(up, "admin"))).text
        assert "bythebook_rate_limited_total 1.0" in figures


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_what_another_page_loads_can_not_reach_an_open_service(
    up: Running, site: str
) -> None:
    """A picture or script is fetched without an Origin."""
    for path in ("/admin/gaps", "/books"):
        refused = await up.http.get(path, headers={"Sec-Fetch-Site": site})
        assert refused.status_code == 403, path
        for own in ("same-origin", "none"):
            assert (await up.http.get(path, headers={"Sec-Fetch-Site": own})).status_code == 200


async def test_a_web_page_can_not_reach_an_open_service(up: Running) -> None:
    """A page that points its own name at this machine sends that name."""
    rebound = await up.http.get("/info", headers={"Host": "evil.example"})
    assert rebound.status_code == 403
    for host in ("localhost", "127.0.0.1:8000", "[::1]"):
        assert (await up.http.get("/info", headers={"Host": host})).status_code == 200


async def test_beyond_this_machine_only_with_a_key(home: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"0\.0\.0\.0 without a key") as refused:
        async with running(home, host="0.0.0.0"):
            pass
    assert "bythebook keys create" in refused.value.action
    async with running(home) as up:
        await key(up)
    async with running(home, host="0.0.0.0") as up:
        address = up.server.address.replace("0.0.0.0", "127.0.0.1")
        async with httpx.AsyncClient(base_url=address) as http:
            assert (await http.get("/info")).status_code == 401


async def test_a_port_in_use_is_told(up: Running, home: Path) -> None:
    port = int(up.server.address.rpartition(":")[2])
    with pytest.raises(ConfigurationError, match=f"port {port}"):
        async with running(home, port=port):
            pass
