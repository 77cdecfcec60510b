"""Questions that come from Slack, over HTTP, and the answers that are posted there."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from bythebook.server.platforms import chats, slack
from server.conftest import Serve
from server.conversing import SECRET, SETTINGS, TOKEN, Conversing, direct, mention, slack_headers
from server.running import failing_statements
from standins.platform_server import PlatformServer, Posted, Step

QUESTION = "What is a URDF?"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[PlatformServer]:
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)  # the SDK would go through it
    with PlatformServer().running() as server:
        monkeypatch.setattr(slack, "API", f"{server.url}/api/")
        monkeypatch.setattr(chats, "FIRST_WAIT", 0.01)
        yield server


@pytest.fixture
async def talk(serve: Serve, api: PlatformServer) -> AsyncIterator[Conversing]:
    async with serve(**SETTINGS) as up:
        yield Conversing(up, api)


def texts(posted: Posted) -> list[str]:
    blocks: list[dict[str, Any]] = posted.body["blocks"]
    return [(block.get("text") or block["elements"][0])["text"] for block in blocks]


async def test_a_mention_is_answered_in_its_thread(talk: Conversing) -> None:
    news = mention(QUESTION)
    response = await talk.slack(news)
    assert (response.status_code, response.json()) == (200, {})
    posted = await talk.posted()
    assert (posted.path, posted.authorization) == ("/api/chat.postMessage", f"Bearer {TOKEN}")
    assert posted.body["channel"] == "C0LAN2Q65"
    assert posted.body["thread_ts"] == news["event"]["ts"]
    answer, sources, footer = texts(posted)
    assert "URDF" in answer and "[1]" in answer
    assert sources.startswith("[1] <https://physical-ai.example/docs/")
    assert "confidence" in footer
    assert posted.body["text"] == answer
    assert posted.body["unfurl_links"] is False and posted.body["parse"] == "none"
    assert all(block["text"]["verbatim"] for block in posted.body["blocks"] if "text" in block)


async def test_a_follow_up_in_the_thread_goes_on(talk: Conversing) -> None:
    first = direct(QUESTION)
    await talk.slack(first)
    await talk.posted(1)
    begun = first["event"]["ts"]
    await talk.slack(direct("And what are its joints?", thread_ts=begun))
    second = await talk.posted(2)
    assert second.body["thread_ts"] == begun
    assert "joint" in texts(second)[0].lower()
    await talk.at_rest()
    assert await talk.conversations() == [4], "one thread is one conversation"
    await talk.slack(direct("And what are its joints?"))
    await talk.posted(3)
    await talk.at_rest()
    assert await talk.conversations() == [2, 4], "a new thread is another"
    noted = (await talk.up.http.get("/admin/questions")).json()["items"]
    assert [each["question"] for each in noted][-1] == QUESTION and len(noted) == 3


async def test_a_full_conversation_goes_on_as_the_next(serve: Serve, api: PlatformServer) -> None:
    async with serve(**SETTINGS, max_conversation_turns=1) as up:
        talk = Conversing(up, api)
        for number in (1, 2, 3):
            await talk.slack(direct(QUESTION, thread_ts="1.0"))
            assert "URDF" in texts(await talk.posted(number))[0]
            await talk.at_rest()


async def test_what_the_book_does_not_say_is_refused(talk: Conversing) -> None:
    await talk.slack(mention("Who won the football world cup in 1954?"))
    told = texts(await talk.posted())
    assert told[0].startswith("I don't have information about that")
    assert not any("[1]" in text or "confidence" in text for text in told)


async def test_a_delivery_is_answered_once(talk: Conversing) -> None:
    news = mention(QUESTION)
    again = {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
    responses = await asyncio.gather(talk.slack(news), *(talk.slack(news, again) for _ in "123"))
    assert [response.status_code for response in responses] == [200] * 4
    await talk.at_rest()
    assert (await talk.slack(news)).status_code == 200, "also when it comes much later"
    await talk.at_rest()
    assert len(talk.api.posted) == 1


async def test_what_is_no_question_is_passed_by(talk: Conversing) -> None:
    for news in (
        mention(QUESTION, bot_id="B0LAN0Z89"),
        direct(QUESTION, subtype="message_changed"),
        direct(QUESTION, subtype="bot_message", user=None),
        direct(QUESTION, channel_type="channel", channel="C0LAN2Q65"),
        {**mention(QUESTION), "event": {"type": "reaction_added", "user": "U061F7AUR"}},
        {"type": "app_rate_limited", "team_id": "T061EG9R6", "minute_rate_limited": 1700000000},
        {"type": "event_callback"},
    ):
        response = await talk.slack(news)
        assert (response.status_code, response.json()) == (200, {}), news
    await talk.at_rest()
    assert not talk.api.posted


async def test_the_address_is_verified(talk: Conversing) -> None:
    challenge = {"token": "x", "challenge": "3eZbrw1aBm2rZgRNFdxV", "type": "url_verification"}
    response = await talk.slack(challenge)
    assert response.json() == {"challenge": "3eZbrw1aBm2rZgRNFdxV"}


async def test_only_slack_itself_is_heard(talk: Conversing) -> None:
    news = mention(QUESTION)
    body = json.dumps(news).encode()
    good = slack_headers(body)
    wrong: list[dict[str, str]] = [
        slack_headers(body, secret="another secret"),
        slack_headers(body + b" "),
        slack_headers(body, at=time.time() - 400),
        slack_headers(body, at=time.time() + 400),
        {**good, "X-Slack-Signature": ""},
        {**good, "X-Slack-Signature": "v0="},
        {**good, "X-Slack-Signature": good["X-Slack-Signature"].upper()},
        {**good, "X-Slack-Request-Timestamp": ""},
        {**good, "X-Slack-Request-Timestamp": "soon"},
        {**good, "X-Slack-Request-Timestamp": "9" * 5000},
        {**good, "X-Slack-Request-Timestamp": "-1"},
    ]
    for headers in wrong:
        response = await talk.slack(news, headers)
        assert response.status_code == 401, headers
        assert response.json()["error"] == "E008"
        assert SECRET not in response.text
    bare = await talk.up.http.post("/slack/events", content=body)
    assert bare.status_code == 401
    odd = {name.encode(): value.encode() for name, value in good.items()}
    odd[b"X-Slack-Signature"] = "v0=é".encode()
    assert (await talk.up.http.post("/slack/events", content=body, headers=odd)).status_code == 401
    assert (await talk.slack(b"\xff\xfe")).status_code == 401, "Slack sends UTF-8"
    assert not talk.api.posted
    assert (await talk.slack(news)).status_code == 200
    await talk.posted()


async def test_what_is_no_event(talk: Conversing) -> None:
    for body, status in (
        (b"no JSON", 400),
        (b"[]", 400),
        (b'{"type": 5}', 400),
        (b'{"type": "event_callback", "event": "x"}', 400),
        (b"[" * 10_000, 400),
        (b'{"type": "' + b"x" * 1_100_000 + b'"}', 413),
    ):
        assert (await talk.slack(body)).status_code == status, body[:50]
    await talk.at_rest()
    assert not talk.api.posted


async def test_what_can_not_be_asked(talk: Conversing) -> None:
    asked = ["", "   <@U0LAN0Z89>  ", "word " * 300]
    how = "Ask me a question about the book, and I answer with what the book says."
    long = "The question has 1499 characters. Ask in at most 1000."
    for number, (text, told) in enumerate(zip(asked, [how, how, long], strict=True), 1):
        await talk.slack(mention(text))
        assert texts(await talk.posted(number)) == [told]


async def test_a_platform_that_is_busy_gets_it_later(talk: Conversing) -> None:
    talk.api.script(
        Step(429, b'{"ok": false, "error": "ratelimited"}', {"Retry-After": "0"}),
        Step(503, b"<html>", {"Content-Type": "text/html"}),
        Step(cut=True),
    )
    await talk.slack(mention(QUESTION))
    last = await talk.posted(4)
    await talk.at_rest()
    assert len(talk.api.posted) == 4
    assert [each.body for each in talk.api.posted] == [last.body] * 4


async def test_a_platform_that_is_down(talk: Conversing, caplog: pytest.LogCaptureFixture) -> None:
    for step, attempts in (
        (Step(500, b"oops"), 4),
        (Step(502, b"bad gateway", {"Content-Type": "text/plain"}), 4),
        (Step(cut=True), 4),
        (Step(200, b'{"ok": false, "error": "internal_error"}'), 4),
        (Step(200, b'{"ok": false, "error": "invalid_auth"}'), 1),
        (Step(429, b"{}", {"Retry-After": "3600"}), 1),
        (Step(200, b"no JSON"), 1),
    ):
        talk.api.posted.clear()
        talk.api.script(*[step] * 9)
        await talk.slack(mention(QUESTION))
        await talk.posted()
        await talk.at_rest()
        assert len(talk.api.posted) == attempts, step
        talk.api.steps.clear()
    told = [each for each in caplog.messages if "could not be sent to slack" in each]
    assert len(told) == 7
    assert not any(secret in caplog.text for secret in (TOKEN, SECRET))
    talk.api.posted.clear()
    await talk.slack(mention(QUESTION))
    assert "URDF" in texts(await talk.posted())[0], "the service goes on"


async def test_a_failure_inside_is_told_without_details(talk: Conversing) -> None:
    with failing_statements(talk.up, "FROM conversation_threads"):
        await talk.slack(mention(QUESTION))
        (told,) = texts(await talk.posted())
    assert told == "The question could not be answered just now. Try again in a moment."


async def test_no_more_at_once_than_the_service_takes(serve: Serve, api: PlatformServer) -> None:
    goes_on = threading.Event()
    async with serve(**SETTINGS, max_concurrent=1) as up:
        talk = Conversing(up, api)
        api.script(Step(waits_for=goes_on))
        waiting, busy = mention(QUESTION), mention(QUESTION)
        assert (await talk.slack(waiting)).status_code == 200
        await talk.posted()
        assert (await talk.slack(busy)).status_code == 503, "Slack sends it again"
        goes_on.set()
        await talk.at_rest()
        crowd = await asyncio.gather(*(talk.slack(mention(QUESTION)) for _ in "12345"))
        assert {each.status_code for each in crowd} == {200, 503}, "one of them got in"
        await talk.at_rest()
        talk.api.posted[1:] = []
        assert (await talk.slack(busy, {"X-Slack-Retry-Num": "1"})).status_code == 200
        await talk.posted(2)


async def test_an_asker_has_a_limit(serve: Serve, api: PlatformServer) -> None:
    async with serve(**SETTINGS, rate_limit=1) as up:
        talk = Conversing(up, api)
        await talk.slack(mention(QUESTION))
        await talk.posted(1)
        await talk.slack(mention(QUESTION))
        (told,) = texts(await talk.posted(2))
        assert told.startswith("You have asked 1 questions in a minute.")
        await talk.slack(mention(QUESTION, user="U000000002"))
        assert "URDF" in texts(await talk.posted(3))[0], "another person has their own"
        await talk.at_rest()


async def test_an_answer_under_way_is_posted_before_the_service_stops(
    serve: Serve, api: PlatformServer
) -> None:
    async with serve(**SETTINGS) as up:
        api.script(Step(503, b"{}"))
        await Conversing(up, api).slack(mention(QUESTION))
    assert [each.path for each in api.posted] == ["/api/chat.postMessage"] * 2


async def test_a_channel_has_its_book(serve: Serve, api: PlatformServer) -> None:
    books = "C0LAN2Q65 = no-such-book, physical-ai-robotics"
    async with serve(**SETTINGS, slack_book=books) as up:
        talk = Conversing(up, api)
        await talk.slack(mention(QUESTION))
        assert texts(await talk.posted(1)) == ["There is no book 'no-such-book'."]
        await talk.slack(direct(QUESTION))
        assert "URDF" in texts(await talk.posted(2))[0]
        await talk.at_rest()
