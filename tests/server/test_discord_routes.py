"""Questions that come from Discord, over HTTP, and the answers that are put in place."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from bythebook.server.platforms import chats, discord
from server.conftest import Serve
from server.conversing import (
    APPLICATION,
    INTERACTION_TOKEN,
    SETTINGS,
    Conversing,
    ask_command,
    discord_headers,
)
from standins.platform_server import PlatformServer, Step

QUESTION = "What is a URDF?"
PATH = f"/webhooks/{APPLICATION}/{INTERACTION_TOKEN}/messages/@original"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[PlatformServer]:
    with PlatformServer().running() as server:
        monkeypatch.setattr(discord, "API", server.url)
        monkeypatch.setattr(chats, "FIRST_WAIT", 0.01)
        yield server


@pytest.fixture
async def talk(serve: Serve, api: PlatformServer) -> AsyncIterator[Conversing]:
    async with serve(**SETTINGS) as up:
        yield Conversing(up, api)


async def test_a_question_is_answered_later(talk: Conversing) -> None:
    response = await talk.discord(ask_command(f"{QUESTION} @everyone <@282265607313817601>"))
    assert (response.status_code, response.json()) == (200, {"type": 5})
    posted = await talk.posted()
    assert (posted.method, posted.path, posted.authorization) == ("PATCH", PATH, None)
    content = posted.body["content"]
    assert content.startswith("> What is a URDF? @\u200beveryone \\<\u200b@282265607313817601\\>")
    assert r"\[1\]" in content and "](<https://physical-ai.example/docs/" in content
    assert "confidence" in content and len(content) <= 2000
    assert posted.body["allowed_mentions"] == {"parse": []}
    assert posted.body["flags"] == 4


async def test_a_person_in_a_channel_has_a_conversation(talk: Conversing) -> None:
    await talk.discord(ask_command(QUESTION))
    await talk.posted(1)
    await talk.discord(ask_command("And what are its joints?"))
    assert "joint" in (await talk.posted(2)).body["content"].lower()
    alone = {"member": None, "user": {"id": "1"}, "guild_id": None}
    await talk.discord(ask_command(QUESTION, **alone))
    await talk.discord(ask_command(QUESTION, channel_id="5"))
    await talk.posted(4)
    await talk.at_rest()
    assert await talk.conversations() == [2, 2, 4], "by person and by channel"


async def test_a_refusal_has_no_sources(talk: Conversing) -> None:
    await talk.discord(ask_command("Who won the football world cup in 1954?"))
    content = (await talk.posted()).body["content"]
    assert "I don't have information about that in the book content" in content
    assert r"\[1\]" not in content and "confidence" not in content


async def test_what_is_answered_at_once(talk: Conversing) -> None:
    assert (await talk.discord({"type": 1, "id": "1", "token": "x"})).json() == {"type": 1}
    unknown = ask_command(QUESTION, data={"id": "1", "name": "other", "type": 1})
    for odd in (unknown, ask_command(5), ask_command(QUESTION, member=None), {"type": 3}):
        answer = (await talk.discord(odd)).json()
        assert answer["type"] == 4 and answer["data"]["flags"] == 64
        assert answer["data"]["content"] == "I only know /ask with a question."
        assert answer["data"]["allowed_mentions"] == {"parse": []}
    await talk.at_rest()
    assert not talk.api.posted


async def test_only_discord_itself_is_heard(talk: Conversing) -> None:
    ask = ask_command(QUESTION)
    body = json.dumps(ask).encode()
    good = discord_headers(body)
    wrong: list[dict[str, str]] = [
        discord_headers(body + b" "),
        discord_headers(body, at=time.time() - 400),
        {**good, "X-Signature-Timestamp": str(int(good["X-Signature-Timestamp"]) + 1)},
        {**good, "X-Signature-Timestamp": ""},
        {**good, "X-Signature-Ed25519": ""},
        {**good, "X-Signature-Ed25519": "no hex"},
        {**good, "X-Signature-Ed25519": good["X-Signature-Ed25519"][:-2]},
        {**good, "X-Signature-Ed25519": "00" * 64},
    ]
    for headers in wrong:
        assert (await talk.discord(ask, headers)).status_code == 401, headers
    bare = await talk.up.http.post("/discord/interactions", content=body)
    assert bare.status_code == 401
    for body, status in (
        (b"no JSON", 400),
        (b'{"type": "x"}', 400),
        (b"\xff", 400),
        (b'{"type": 1, "x": "' + b"x" * 1_100_000 + b'"}', 413),
    ):
        assert (await talk.discord(body)).status_code == status, body[:50]
    await talk.at_rest()
    assert not talk.api.posted
    assert (await talk.discord(ask)).json() == {"type": 5}
    await talk.posted()


async def test_an_interaction_is_answered_once(talk: Conversing) -> None:
    ask = ask_command(QUESTION)
    await asyncio.gather(*(talk.discord(ask) for _ in "123"))
    await talk.at_rest()
    assert len(talk.api.posted) == 1


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Whatever else is logged."""
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


async def test_a_platform_that_is_busy_or_down(
    talk: Conversing, caplog: pytest.LogCaptureFixture
) -> None:
    talk.api.script(Step(429, b"{}", {"Retry-After": "0.01"}), Step(502, b""), Step(cut=True))
    await talk.discord(ask_command(QUESTION))
    await talk.posted(4)
    await talk.at_rest()
    assert not warnings_in(caplog)
    for step, attempts in ((Step(500), 4), (Step(404), 1), (Step(429, b"", {}), 4)):
        talk.api.posted.clear()
        talk.api.script(*[step] * 9)
        await talk.discord(ask_command(QUESTION))
        await talk.posted()
        await talk.at_rest()
        assert len(talk.api.posted) == attempts, step
        talk.api.steps.clear()
    assert len(warnings_in(caplog)) == 3
    assert INTERACTION_TOKEN not in caplog.text


async def test_a_full_service_says_so_at_once(serve: Serve, api: PlatformServer) -> None:
    goes_on = threading.Event()
    async with serve(**SETTINGS, max_concurrent=1) as up:
        talk = Conversing(up, api)
        api.script(Step(waits_for=goes_on))
        await talk.discord(ask_command(QUESTION))
        await talk.posted()
        answer = (await talk.discord(ask_command(QUESTION))).json()
        assert answer["type"] == 4 and "Try again in a moment" in answer["data"]["content"]
        goes_on.set()


async def test_what_is_not_configured_says_so(serve: Serve) -> None:
    async with serve() as up:
        for path, name in (("/slack/events", "Slack"), ("/discord/interactions", "Discord")):
            response = await up.http.post(path, json={"type": 1})
            assert response.status_code == 404
            assert response.json()["message"] == f"This service is not connected to {name}."
            assert f"BYTHEBOOK_{name.upper()}_" in response.json()["suggested_action"]
