"""The language model and keys, set up over HTTP."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from bythebook.agent.assistant import Assistant
from bythebook.errors import ConfigurationError
from bythebook.library import Library
from bythebook.settings import load_settings
from bythebook.settings.chosen_model import FILE
from server.conftest import Serve
from server.running import Running, running
from standins.llm_process import quotes
from standins.llm_server import LlmServer, running_llm, searches_then

BOOK = "physical-ai-robotics"
MODEL, KEYS = "/admin/model", "/admin/keys"
SECRET = "a-secret-of-the-operator"
OPENAI = "https://api.openai.com/v1"


def choice(llm: LlmServer, **more: Any) -> dict[str, Any]:
    return {"address": llm.base_url, "model": llm.model, **more}


async def test_a_choice_lasts_and_ends(tmp_path: Path, llm: LlmServer) -> None:
    home = tmp_path / "home"
    async with running(home) as up:
        nothing = (await up.http.get(MODEL)).json()
        assert nothing == {
            "address": None, "model": None, "has_key": False, "chosen_by": "nobody", "variables": []
        }  # fmt: skip
        chosen = (await up.http.put(MODEL, json=choice(llm, key=SECRET))).json()
        assert (chosen["model"], chosen["has_key"], chosen["chosen_by"]) == (
            llm.model,
            True,
            "page",
        )
        assert SECRET not in json.dumps(chosen)
        assert (home / FILE).stat().st_mode & 0o777 == 0o600
        assert (await up.http.get("/info")).json()["model"] == llm.model
    async with running(home) as up:  # as it was, after a restart
        assert (await up.http.get("/info")).json()["model"] == llm.model
        # For the same address the key stays; for another server it is not sent along.
        kept = (await up.http.put(MODEL, json=choice(llm))).json()
        assert kept["has_key"]
        with running_llm(strict=False) as other:
            moved = (await up.http.put(MODEL, json=choice(other))).json()
            assert not moved["has_key"]
        gone = (await up.http.delete(MODEL)).json()
        assert (gone["model"], gone["chosen_by"]) == (None, "nobody")
        assert not (home / FILE).exists()
        assert (await up.http.get("/info")).json()["answerer"] == "built-in"


async def test_a_command_takes_the_choice_up(
    tmp_path: Path, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    async with running(home) as up:
        await up.http.put(MODEL, json=choice(llm))
    monkeypatch.setenv("BYTHEBOOK_HOME", str(home))
    async with await Library.open() as library, Assistant(library) as assistant:
        assert assistant.model_name == llm.model
    monkeypatch.setenv("BYTHEBOOK_ANSWERER", "built-in")
    async with await Library.open() as library, Assistant(library) as assistant:
        assert assistant.language_model is None
    monkeypatch.delenv("BYTHEBOOK_ANSWERER")
    (home / FILE).write_text("{")
    with pytest.raises(ConfigurationError, match="choose the model on /admin again"):
        await Library.open(load_settings())


async def test_a_test_never_sends_the_kept_key_elsewhere(serve: Serve, llm: LlmServer) -> None:
    llm.always(searches_then(quotes))
    async with serve() as up:
        home = up.service.settings.home
        try:
            await up.http.put(MODEL, json=choice(llm, key=SECRET))
            with running_llm(strict=False) as other:
                other.always(searches_then(quotes))
                tested = await up.http.post(f"{MODEL}/test", json=choice(other))
                assert tested.json()["ok"], tested.text
                assert other.requests
                assert all(SECRET not in str(request.headers) for request in other.requests)
            tested = await up.http.post(f"{MODEL}/test")
            assert tested.json()["ok"]
            assert llm.requests[-1].headers["authorization"] == f"Bearer {SECRET}"
            assert next(check["name"] for check in tested.json()["checks"]) == "model: reachable"
        finally:
            (home / FILE).unlink(missing_ok=True)


async def test_the_environment_wins(serve: Serve, llm: LlmServer) -> None:
    async with serve(openai_base_url=llm.base_url, openai_model=llm.model) as up:
        found = (await up.http.get(MODEL)).json()
        assert found["chosen_by"] == "environment"
        assert found["variables"] == ["OPENAI_BASE_URL", "OPENAI_MODEL"]
        for refused in (
            await up.http.put(MODEL, json=choice(llm)),
            await up.http.delete(MODEL),
        ):
            assert refused.status_code == 403 and "OPENAI_BASE_URL" in refused.json()["message"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"address": "file:///etc", "model": "x"}, "address"),
        ({"address": "http://user:word@host/v1", "model": "x"}, "address"),
        ({"address": "http://host:99999/v1", "model": "x"}, "address"),
        ({"address": "http://host\\/v1", "model": "x"}, "address"),
        ({"address": "http://\u3002/v1", "model": "x"}, "address"),
        ({"address": "http://[::1/v1", "model": "x"}, "address"),
        ({"address": "http://[::1][::1%25lo]@", "model": "x"}, "address"),
        ({"address": OPENAI, "model": "two words"}, "model"),
        ({"address": OPENAI, "model": "gpt-4o-mini"}, "key"),
        ({"address": OPENAI, "model": "gpt-4o-mini", "key": "my-own-secret"}, "key"),
    ],
)
async def test_a_choice_that_can_not_be_used(up: Running, body: dict[str, str], field: str) -> None:
    for send in (up.http.put(MODEL, json=body), up.http.post(f"{MODEL}/test", json=body)):
        refused = await send
        assert refused.status_code == 400 and refused.json()["details"] == {"field": field}
        assert "my-own-secret" not in refused.text
    nothing = await up.http.post(f"{MODEL}/test")
    assert nothing.status_code == 400 and "no language model" in nothing.json()["message"]


async def test_the_log_hides_the_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path / "home") as up:
        body = {"address": "http://127.0.0.1:9/v1", "model": "x", "key": SECRET}
        await up.http.put(MODEL, json=body)
        logging.getLogger("bythebook").warning("It said %s.", SECRET)
    seen = capsys.readouterr().err
    assert "It said ***." in seen and SECRET not in seen


async def test_the_first_key_shuts_nobody_out(up: Running) -> None:
    body = {"name": "docs", "books": [BOOK], "origins": ["https://docs.example.org"]}
    for wrong, field in (
        ({"origins": ["docs.example.org"]}, "origin"),
        ({"books": ["nobody"]}, "book_id"),
        ({"name": " "}, "name"),
        ({"server": "0" * 300}, "server"),
    ):
        refused = await up.http.post(KEYS, json={**body, **wrong})
        assert refused.status_code in (400, 404)
        assert refused.json()["details"] == {"field": field}
    assert not await up.service.keys.exist()
    made = (await up.http.post(KEYS, json={**body, "server": "https://ask.example.org/"})).json()
    line = f'data-book="{BOOK}" data-key="{made["text"]}" async></script>'
    assert made["line"] == f'<script src="https://ask.example.org/widget.js" {line}'
    assert made["key"]["scopes"] == ["chat"] and made["key"]["books"] == [BOOK]
    assert (await up.http.get(KEYS)).status_code == 401
    own = {"X-API-Key": made["admin_key"]}
    listed = (await up.http.get(KEYS, headers=own)).json()
    assert {key["name"] for key in listed} == {"docs", "admin"}
    assert made["text"] not in json.dumps(listed)
    second = (await up.http.post(KEYS, json={**body, "name": "blog"}, headers=own)).json()
    assert second["admin_key"] is None
    (mine,) = [key["key_id"] for key in listed if key["name"] == "admin"]
    refused = await up.http.delete(f"{KEYS}/{mine}", headers=own)
    assert refused.status_code == 400 and "using now" in refused.json()["message"]
    revoked = await up.http.delete(f"{KEYS}/{made['key']['key_id']}", headers=own)
    assert revoked.json()["state"] == "revoked"


async def test_a_page_is_told_whether_its_site_is_allowed(up: Running) -> None:
    async def ask(origin: str | None) -> dict[str, Any]:
        answer = await up.http.get("/widget/settings", headers={"Origin": origin} if origin else {})
        assert answer.headers["access-control-allow-origin"] == "*"
        found: dict[str, Any] = answer.json()
        return found

    site = "http://localhost:3000"
    assert (await ask(None))["allowed"] and (await ask(up.server.address))["allowed"]
    refused = await ask(site)
    assert not refused["allowed"] and site in refused["message"]
    assert f"--origin {site}" in refused["suggested_action"]
    assert "as a file" in (await ask("null"))["suggested_action"]
    await up.service.keys.create("site", ["chat"], [BOOK], origins=[site])
    assert (await ask(site))["allowed"]
    assert not (await ask("http://127.0.0.1:3000"))["allowed"]
