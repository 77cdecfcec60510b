"""Keys that stand in web pages, and pages that may not ask."""

from __future__ import annotations

from typing import Any

import pytest

from server.conftest import Serve
from server.running import Running, failing_statements, with_model
from standins.llm_server import LlmServer, hangs

SITE, OTHER = "https://book.example.org", "https://evil.example"
BOOK = "physical-ai-robotics"
QUESTION = "What is a URDF?"
ASKING = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key"}


async def publishable(up: Running, *origins: str) -> dict[str, str]:
    _, text = await up.service.keys.create("site", ("chat",), [BOOK], origins=origins or [SITE])
    assert text.startswith("btbp_")
    return {"X-API-Key": text}


async def preflight(up: Running, origin: str) -> Any:
    return await up.http.options("/chat/run", headers={"Origin": origin, **ASKING})


async def test_a_page_can_do_all_that_a_reader_needs(up: Running) -> None:
    key = {**await publishable(up), "Origin": SITE}
    asked = await up.http.post("/chat/run", json={"message": QUESTION}, headers=key)
    assert asked.status_code == 200
    assert asked.headers["Access-Control-Allow-Origin"] == SITE
    assert "Origin" in asked.headers["Vary"]
    assert "X-Session-ID" in asked.headers["Access-Control-Expose-Headers"]
    answer = asked.json()
    passage = answer["citations"][0]["passage_id"]
    context = await up.http.get(f"/context/{passage}", headers=key)
    lesson = context.json()["passages"][0]["parent_doc_id"]
    body = {"answer_id": answer["answer_id"], "rating": "up"}
    for method, path, sent, status in (
        ("GET", f"/lesson/{lesson}", None, 200),
        ("GET", "/books", None, 200),
        ("POST", "/feedback", body, 204),
        ("POST", "/chat/stream", {"message": QUESTION}, 200),
        ("GET", f"/session/{answer['session_id']}/history", None, 200),
        ("GET", f"/session/{answer['session_id']}/summary", None, 200),
        ("DELETE", f"/session/{answer['session_id']}", None, 204),
        ("POST", "/search", {"text": QUESTION}, 403),
        ("GET", "/info", None, 403),
        ("GET", "/metrics", None, 403),
        ("GET", "/admin/usage", None, 403),
        ("GET", "/ingestion/status", None, 403),
        ("POST", "/ingestion/trigger", {}, 403),
        ("GET", "/lesson/0b6ff1a2-9d0c-4d6e-8f43-0f6c5e1c9a11?book_id=another", None, 404),
    ):
        response = await up.http.request(method, path, json=sent, headers=key)
        assert response.status_code == status, path
        assert response.headers["Access-Control-Allow-Origin"] == SITE, "errors can be read, too"


async def test_only_pages_of_its_sites_may_use_it(up: Running) -> None:
    key = await publishable(up, SITE, "http://localhost:3000")
    other = await publishable(up, OTHER)
    for headers, status in (
        ({**key, "Origin": SITE}, 200),
        ({**key, "Origin": "http://localhost:3000"}, 200),
        (key, 403),
        ({**key, "Origin": OTHER}, 403),
        ({**key, "Origin": "null"}, 403),
        ({**key, "Origin": f"{SITE}:444"}, 403),
        ({**key, "Origin": f"{SITE}.evil.example"}, 403),
        ({**key, "Origin": SITE.replace("https", "http")}, 403),
        ({**other, "Origin": OTHER}, 200),
        ({**other, "Origin": SITE}, 403),
    ):
        response = await up.http.get("/books", headers=headers)
        assert response.status_code == status, headers
    refused = await up.http.get("/books", headers={**key, "Origin": OTHER})
    assert refused.json()["error"] == "E009" and SITE not in refused.text


async def test_a_page_below_the_same_site_names_no_origin(up: Running) -> None:
    """As where a proxy puts the service under the book's own address."""
    key = {**await publishable(up), "Host": "book.example.org"}
    same = {**key, "Sec-Fetch-Site": "same-origin"}
    assert (await up.http.get("/books", headers=same)).status_code == 200
    assert (await up.http.get("/books", headers=key)).status_code == 403
    for wrong in ({"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}, {"Origin": OTHER}):
        assert (await up.http.get("/books", headers={**same, **wrong})).status_code == 403


async def test_preflights_follow_the_keys(up: Running) -> None:
    refused = await preflight(up, SITE)
    assert refused.status_code == 405 and "access-control-allow-origin" not in refused.headers
    await publishable(up)
    allowed = await preflight(up, SITE)
    assert allowed.status_code == 200
    assert allowed.headers["Access-Control-Allow-Origin"] == SITE
    assert "X-API-Key" in allowed.headers["Access-Control-Allow-Headers"]
    assert "DELETE" in allowed.headers["Access-Control-Allow-Methods"]
    assert "access-control-allow-credentials" not in allowed.headers
    assert (await preflight(up, OTHER)).status_code == 405
    (known,) = await up.service.keys.list()
    await up.service.keys.revoke(known.key_id)
    assert "access-control-allow-origin" not in (await preflight(up, SITE)).headers
    health = await up.http.get("/health", headers={"Origin": SITE})
    assert health.status_code == 200 and "access-control-allow-origin" not in health.headers
    assert "Origin" in health.headers["Vary"], "a cache must not take it for another site's"


async def test_a_revoked_key_stops_its_pages(up: Running) -> None:
    key = {**await publishable(up), "Origin": SITE}
    assert (await up.http.get("/books", headers=key)).status_code == 200
    (known,) = await up.service.keys.list()
    await up.service.keys.revoke(known.key_id)
    refused = await up.http.get("/books", headers=key)
    assert refused.status_code == 401 and "access-control-allow-origin" not in refused.headers


async def test_a_page_can_read_that_the_service_is_full(serve: Serve, llm: LlmServer) -> None:
    page = {"Origin": SITE}
    async with serve(**with_model(llm), max_concurrent=1, cors_origins=SITE) as up:
        llm.script(hangs(60))
        body = {"message": QUESTION}
        async with up.http.stream("POST", "/chat/stream", json=body, headers=page) as first:
            assert first.status_code == 200
            full = await up.http.get("/books", headers=page)
    assert full.status_code == 503
    assert full.headers["Access-Control-Allow-Origin"] == SITE
    assert "Retry-After" in full.headers["Access-Control-Expose-Headers"]


async def test_pages_of_other_sites_can_not_drive_a_local_service(serve: Serve) -> None:
    async with serve(cors_origins=SITE) as up:
        address = up.server.address
        port = address.rpartition(":")[2]
        for origin, status in (
            (None, 200),
            (address, 200),
            (SITE, 200),
            (OTHER, 403),
            ("null", 403),
            (f"http://localhost:{port}", 403),
            ("http://127.0.0.1:1", 403),
            (address.replace("http", "https"), 403),
        ):
            headers = {"Origin": origin} if origin else {}
            asked = await up.http.post("/chat/run", json={"message": QUESTION}, headers=headers)
            assert asked.status_code == status, origin
            assert (await up.http.get("/books", headers=headers)).status_code == status
            # What needs no key is harmless, and tells nothing to a page that may not read it.
            health = await up.http.get("/health", headers=headers)
            assert health.status_code == 200
        by_name = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
        assert (await up.http.get("/books", headers=by_name)).status_code == 200
        assert len((await up.http.get("/admin/questions")).json()["items"]) == 3


async def test_sites_stay_known_while_the_database_is_away(
    up: Running, caplog: pytest.LogCaptureFixture
) -> None:
    key = {**await publishable(up), "Origin": SITE}
    assert (await preflight(up, SITE)).status_code == 200
    with failing_statements(up, "api_keys"):
        assert (await preflight(up, SITE)).status_code == 200
        assert (await preflight(up, OTHER)).status_code == 405
        down = await up.http.get("/books", headers=key)
    assert down.status_code == 503 and down.headers["Access-Control-Allow-Origin"] == SITE
    assert "the disk is full" in caplog.text
