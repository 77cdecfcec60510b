"""Answers and passages as HTML over HTTP, and what a refusal offers instead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from booktext import WriteBook
from bythebook.library import Library
from bythebook.models.answer import MAX_NEAREST
from bythebook.models.chat_messages import ChatResponse
from bythebook.models.passage import path_of
from bythebook.models.search_messages import ContextResponse
from bythebook.server.rendering import answer_html
from bythebook.settings import Settings
from models.samples import passage as sample_passage
from server.html_seen import Seen
from server.running import Running, with_model
from standins.llm_server import LlmServer, calls_tool, says

QUESTION = "What is a service in ROS 2?"
UNANSWERABLE = "How do I bake sourdough bread?"
BOOK = "physical-ai-robotics"


async def ask(up: Running, message: str, **fields: Any) -> ChatResponse:
    response = await up.ask(message, **fields)
    assert response.status_code == 200, response.text
    return ChatResponse.model_validate(response.json())


async def test_html_comes_only_when_it_is_asked_for(up: Running) -> None:
    assert (await ask(up, QUESTION)).html is None
    answer = await ask(up, QUESTION, html=True)
    assert answer.html == answer_html(answer.response, answer.citations)
    assert {int(number) for number in Seen(answer.html).cites} == {
        citation.number for citation in answer.citations
    }
    assert (await up.ask(QUESTION, html="please")).status_code == 400


async def test_each_token_brings_the_whole_answer_so_far(serve: Any, llm: LlmServer) -> None:
    told = "A service is a request-and-reply connection [1]. A service has **one** server [1]."
    llm.script(calls_tool("service in ROS 2"), says(told))
    async with serve(**with_model(llm)) as up:
        heard = await up.events(QUESTION, html=True)
    tokens = [data for name, data in heard if name == "token"]
    done = heard[-1][1]
    assert heard[-1][0] == "done" and not done["refused"]
    so_far = ""
    for token in tokens:
        so_far += token["text"]
        seen = Seen(token["html"])
        assert seen.cites == ["1"] * so_far.count("[1]")
    assert Seen(done["html"]).text == Seen(tokens[-1]["html"]).text
    assert 'aria-label="Source 1: ' in done["html"]


async def test_tokens_have_no_html_unless_asked(up: Running) -> None:
    heard = await up.events(QUESTION)
    assert [data["html"] for name, data in heard if name == "token"]
    assert not any(data["html"] for name, data in heard if name in ("token", "done"))


async def test_what_was_retrieved_has_its_path(up: Running) -> None:
    heard = await up.events(QUESTION)
    (found,) = [data for name, data in heard if name == "retrieval"]
    for passage in found["passages"]:
        path = passage["path"]
        assert passage["title"] in path and path[0].startswith("Module ")
        assert len(set(path)) == len(path)
        assert passage["section"] is None or path[-1] == passage["section"]


@pytest.mark.parametrize("how", ["run", "stream"])
async def test_a_refusal_names_what_is_near(up: Running, how: str) -> None:
    if how == "run":
        refusal = await ask(up, UNANSWERABLE, html=True)
    else:
        heard = await up.events(UNANSWERABLE, html=True)
        refusal = ChatResponse.model_validate(heard[-1][1])
    assert refusal.refused and refusal.searched == UNANSWERABLE
    assert 0 < len(refusal.nearest) <= MAX_NEAREST
    for section in refusal.nearest:
        assert section.title in section.path
        context = await up.http.get(f"/context/{section.passage_id}")
        assert context.status_code == 200
    assert len({section.url for section in refusal.nearest}) == len(refusal.nearest)
    assert refusal.html and not Seen(refusal.html).cites


async def test_an_answer_has_nothing_near(up: Running) -> None:
    answer = await ask(up, QUESTION)
    assert answer.nearest == [] and answer.searched


async def test_a_question_is_shown_as_its_text(up: Running) -> None:
    refusal = await ask(up, "<img src=x onerror=alert(1)> sourdough bread?", html=True)
    assert refusal.refused and refusal.html
    assert "img" not in Seen(refusal.html).tags and "<img" in Seen(refusal.html).text


async def test_the_history_can_have_html(up: Running) -> None:
    answer = await ask(up, QUESTION, html=True)
    address = f"/session/{answer.session_id}/history"
    plain = (await up.http.get(address)).json()
    assert [message["html"] for message in plain["messages"]] == [None, None]
    shown = (await up.http.get(address, params={"html": "true"})).json()
    assert [message["html"] for message in shown["messages"]] == [None, answer.html]


async def test_what_is_cited_is_marked_in_its_passage(up: Running) -> None:
    (citation, *_) = (await ask(up, QUESTION)).citations
    stretches = ",".join(f"{start}-{end}" for start, end in citation.stretches)
    response = await up.http.get(
        f"/context/{citation.passage_id}", params={"html": "true", "stretches": stretches}
    )
    context = ContextResponse.model_validate(response.json())
    assert len(context.passages) > 1
    for passage in context.passages:
        assert passage.html is not None
        assert passage.path[0].startswith("Module ") and passage.title in passage.path
        if passage.id == citation.passage_id:
            marked = Seen(passage.html).marked
        else:
            assert "<mark>" not in passage.html
    quoted = re.sub(r"```\w*", "", citation.quote)
    quoted = quoted.replace("**", "").replace("`", "").replace(" … ", "")
    assert "".join(marked.split()) == "".join(quoted.split())


async def test_a_passage_without_html_has_its_path(up: Running) -> None:
    (citation, *_) = (await ask(up, QUESTION)).citations
    (passage,) = (
        await up.http.get(f"/context/{citation.passage_id}", params={"before": 0, "after": 0})
    ).json()["passages"]
    assert passage["html"] is None and passage["path"][0].startswith("Module ")


async def test_modules_have_the_titles_of_their_pages(up: Running) -> None:
    titles = await up.service.library.known.module_titles(BOOK)
    assert set(titles) == {"ros2", "gazebo", "isaac", "vla"}
    assert titles["ros2"] == "Module 1: The Robotic Nervous System (ROS 2)"


async def test_modules_without_a_page_are_named_after_their_folder(
    tmp_path: Path, write_book: WriteBook
) -> None:
    page = "# A page\n\nIt says something about pages.\n"
    folder = write_book({"first-steps/01-intro/01-page.md": page, "loose.md": page})
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        await library.ingest(folder, book_id="small")
        assert await library.known.module_titles("small") == {"first-steps": "First steps"}


async def test_titles_are_found_again_when_the_book_changes(
    up: Running, write_book: WriteBook
) -> None:
    library, shelf = up.service.library, up.service.catalog_cache
    page = "# A page\n\nIt says something about pages.\n"
    try:
        await library.ingest(write_book({"steps/01-intro/01-page.md": page}), book_id="small")
        assert await shelf.module_titles("small") == {"steps": "Steps"}
        more = {"leaps/01-intro/01-page.md": page.replace("A page", "Another page")}
        await library.ingest(write_book(more), book_id="small")
        assert set(await shelf.module_titles("small")) == {"steps", "leaps"}
    finally:
        await library.remove_book("small")
    assert await shelf.module_titles("small") == {}


def test_a_path_names_each_place_once() -> None:
    place = sample_passage(
        module="ros2",
        chapter_title="Robot Models",
        title="URDF",
        heading_path=["URDF", "Links", "Wheels"],
        section_title="Wheels",
    ).metadata
    own = ["Robot Models", "URDF", "Links", "Wheels"]
    assert path_of(place) == own
    assert path_of(place, {"ros2": "Module 1", "vla": "Module 4"}) == ["Module 1", *own]
    assert path_of(place, {"ros2": "robot models"}) == ["robot models", *own[1:]]


def test_a_path_in_a_file_that_is_a_whole_book() -> None:
    place = sample_passage(
        chapter_title="3 Care",
        title="The Handbook",
        heading_path=["The Handbook", "3 Care", "Descaling"],
        section_title="Descaling",
    ).metadata
    assert path_of(place) == ["The Handbook", "3 Care", "Descaling"]


@pytest.mark.parametrize("stretches", ["1", "a-b", "1-2,", "-1-2", "1-2;3-4", "1-99999999"])
async def test_stretches_that_are_none(up: Running, stretches: str) -> None:
    (citation, *_) = (await ask(up, QUESTION)).citations
    response = await up.http.get(
        f"/context/{citation.passage_id}", params={"html": "true", "stretches": stretches}
    )
    assert response.status_code == 400
    assert response.json()["details"]["field"] == "stretches"
