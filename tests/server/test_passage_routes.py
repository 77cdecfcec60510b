"""Search, neighbours and lessons over HTTP."""

from __future__ import annotations

import asyncio
import re
import uuid
from typing import Any

import pytest

from bythebook.models.search_messages import ContextResponse, LessonResponse, SearchResponse
from server.running import Running

QUESTION = "What is a service in ROS 2?"
BOOK = "physical-ai-robotics"


async def search(up: Running, **fields: Any) -> SearchResponse:
    response = await up.http.post("/search", json={"text": QUESTION, **fields})
    assert response.status_code == 200, response.text
    return SearchResponse.model_validate(response.json())


async def test_the_best_passages_first(up: Running) -> None:
    found = await search(up, limit=3)
    assert len(found.results) == 3 and found.book_id == BOOK and found.hardware_tier_filter == 1
    assert "service" in found.results[0].text
    assert all(result.hardware_tier == 1 for result in found.results)


async def test_null_names_no_book(up: Running) -> None:
    named, unnamed = await search(up, book_id=None), await search(up)
    assert named.results == unnamed.results and named.book_id == BOOK


async def test_filters_hold(up: Running) -> None:
    found = await search(up, module_filter="ros2", hardware_tier_filter=4, limit=20)
    assert {result.module for result in found.results} == {"ros2"}
    unknown = await up.http.post("/search", json={"text": QUESTION, "module_filter": "nope"})
    assert unknown.json()["details"]["field"] == "module_filter"
    assert unknown.status_code == 400 and "nope" in unknown.json()["message"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", "ab"),
        ("text", "???"),
        ("limit", 0),
        ("limit", 21),
        ("hardware_tier_filter", 0),
        ("chapter_min", -1),
        ("chapter_max", 10**30),
        ("proficiency_levels", ["Z9"]),
        ("parent_doc_id", "no id"),
        ("sort", "best"),
    ],
)
async def test_what_can_not_be_searched_is_named(up: Running, field: str, value: Any) -> None:
    response = await up.http.post("/search", json={"text": QUESTION, field: value})
    assert response.status_code == 400
    assert response.json()["details"]["field"].startswith(field)


async def test_neighbours_in_reading_order(up: Running) -> None:
    found = await search(up)
    middle = next(r for r in found.results if r.prev_chunk_id and r.next_chunk_id)
    response = await up.http.get(f"/context/{middle.id}")
    context = ContextResponse.model_validate(response.json())
    ids = [passage.id for passage in context.passages]
    assert ids == [middle.prev_chunk_id, middle.id, middle.next_chunk_id]
    alone = await up.http.get(f"/context/{middle.id}", params={"before": 0, "after": 0})
    assert [passage["id"] for passage in alone.json()["passages"]] == [middle.id]
    assert (await up.http.get(f"/context/{middle.id}?before=11")).status_code == 400


async def test_a_whole_lesson(up: Running) -> None:
    found = (await search(up)).results[0]
    response = await up.http.get(f"/lesson/{found.parent_doc_id}", params={"book_id": BOOK})
    lesson = LessonResponse.model_validate(response.json())
    assert [passage.chunk_index for passage in lesson.passages] == [*range(found.total_chunks)]
    assert "#" not in lesson.url


async def test_a_whole_lesson_as_html_with_the_cited_words(up: Running) -> None:
    """Marked are the same words as in the passage, also where passages overlap."""
    found = (await search(up)).results[0]
    lesson = {"html": "true", "chunk_id": found.id}
    for start, end in ((0, 40), (len(found.text) - 60, len(found.text)), (30, len(found.text) - 9)):
        stretch = {"stretches": f"{start}-{end}", "html": "true"}
        alone = await up.http.get(f"/context/{found.id}?before=0&after=0", params=stretch)
        whole = await up.http.get(f"/lesson/{found.parent_doc_id}", params={**lesson, **stretch})
        assert marked(whole.json()["html"]) == marked(alone.json()["passages"][0]["html"])
    plain = (await up.http.get(f"/lesson/{found.parent_doc_id}", params={"html": "true"})).json()
    assert "<mark>" not in plain["html"] and len(plain["html"]) > len(found.text)


def marked(html: str) -> str:
    return " ".join(" ".join(re.findall("<mark>(.*?)</mark>", html, re.S)).split())


async def test_what_is_not_there(up: Running) -> None:
    nothing = str(uuid.uuid4())
    for path in (f"/context/{nothing}", f"/lesson/{nothing}"):
        response = await up.http.get(path)
        assert response.status_code == 404 and nothing in response.json()["message"]
    assert (await up.http.get("/context/7")).status_code == 400
    other = await up.http.get(f"/lesson/{nothing}?book_id=other")
    assert other.status_code == 404


async def test_a_hundred_searches_at_once(up: Running) -> None:
    asked = [f"{QUESTION} {number}" for number in range(100)]
    responses = await asyncio.gather(
        *(up.http.post("/search", json={"text": text}) for text in asked)
    )
    assert {response.status_code for response in responses} == {200}
    assert [response.json()["query"] for response in responses] == asked
