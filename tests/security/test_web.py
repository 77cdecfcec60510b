"""Pages of other sites can neither frame the service's pages nor act through its readers."""

from __future__ import annotations

import pytest

from server.running import Running

EVIL = "https://evil.example"
SESSION = "0b6ff1a2-9d0c-4d6e-8f43-0f6c5e1c9a11"
CHANGES = [
    ("POST", "/ingestion/trigger"),
    ("POST", "/chat/run"),
    ("POST", "/feedback"),
    ("POST", "/search"),
    ("POST", "/mcp"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/api/v1/agent/chat"),
    ("DELETE", f"/session/{SESSION}"),
    ("GET", "/admin/usage"),
    ("GET", "/admin/questions"),
    ("GET", "/ingestion/changes"),
]


@pytest.mark.parametrize("path", ["/", "/admin", "/docs", "/health", "/widget.js", "/none"])
async def test_nothing_can_be_framed_or_guessed_at(up: Running, path: str) -> None:
    response = await up.http.get(path)
    assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "unsafe" not in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize(("method", "path"), CHANGES)
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
async def test_what_a_page_can_send_without_asking_is_refused(
    up: Running, method: str, path: str, kind: str
) -> None:
    """A form or a plain `fetch` needs no permission to be sent. There are no cookies, so it carries
    nothing of the visitor; without keys its origin betrays it."""
    for origin in (EVIL, "null"):
        headers = {"Origin": origin, "Content-Type": kind}
        sent = await up.http.request(method, path, content=b"{}", headers=headers)
        assert sent.status_code == 403, (path, origin)
        assert "access-control-allow-origin" not in sent.headers
        assert "set-cookie" not in sent.headers


async def test_no_cookie_is_ever_set(up: Running) -> None:
    key = (await up.service.keys.create("admin", ("admin",)))[1]
    for path in ("/", "/admin", "/books", "/admin/usage", "/info"):
        response = await up.http.get(path, headers={"X-API-Key": key, "Cookie": "a=b"})
        assert response.status_code == 200 and "set-cookie" not in response.headers
    cookie = {"Cookie": f"X-API-Key={key}; key={key}; Authorization=Bearer {key}"}
    assert (await up.http.get("/admin/usage", headers=cookie)).status_code == 401
    assert (await up.http.get(f"/admin/usage?key={key}&api_key={key}")).status_code == 401
