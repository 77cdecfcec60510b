"""A refusal that sends the reader on."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from bythebook.errors import ConfigurationError
from bythebook.settings import load_settings
from server.conftest import Serve
from server.html_seen import Seen

QUESTION = "How do I bake (and eat) 50% sourdough bread & butter?"
FORM = "https://forum.example/new?tags=a,b&title={question}"
TEXT = "Ask in [our] forum"


def test_only_links_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("javascript:alert(1)", "forum.example", "https://a.example/ b"):
        monkeypatch.setenv("BYTHEBOOK_REFUSAL_LINK", wrong)
        with pytest.raises(ConfigurationError, match="BYTHEBOOK_REFUSAL_LINK"):
            load_settings()
    monkeypatch.setenv("BYTHEBOOK_REFUSAL_LINK", FORM)
    assert load_settings().refusal_link == FORM


async def test_every_way_of_asking_shows_it(serve: Serve) -> None:
    async with serve(refusal_link=FORM, refusal_link_text=TEXT) as up:
        answer = (await up.ask(QUESTION, html=True)).json()
        assert answer["refused"]
        step = answer["next_step"]
        assert step["text"] == TEXT
        assert parse_qs(urlsplit(step["url"]).query)["title"] == [QUESTION]
        page = Seen(answer["html"])
        assert page.links == [step["url"]] and TEXT in page.text
        # It is part of what is kept, and of what is streamed.
        path = f"/session/{answer['session_id']}/history"
        kept = (await up.http.get(path, params={"html": True})).json()["messages"][-1]
        assert Seen(kept["html"]).links == [step["url"]]
        stream = await up.http.post("/chat/stream", json={"message": QUESTION})
        told = [line[6:] for line in stream.text.splitlines() if line.startswith("data: ")]
        tokens = [json.loads(data) for data in told]
        assert (
            "".join(one["text"] for one in tokens if set(one) == {"text", "html"})
            == (answer["response"])
        )
        # Other clients have it in the text.
        body = {"model": "bythebook", "messages": [{"role": "user", "content": QUESTION}]}
        completion = (await up.http.post("/v1/chat/completions", json=body)).json()
        assert step["url"] in completion["choices"][0]["message"]["content"]
        # What the book answers needs none, nor does a greeting.
        for message in ("What is a URDF?", "Hello!"):
            other = (await up.ask(message)).json()
            assert other["next_step"] is None and "forum.example" not in other["response"]


async def test_without_the_setting_there_is_none(serve: Serve) -> None:
    async with serve() as up:
        answer = (await up.ask(QUESTION)).json()
        assert answer["refused"] and answer["next_step"] is None
