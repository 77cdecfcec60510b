"""Searching over HTTP: every filter, every field of a result, and the order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract.shapes import misfits
from server.running import Running

QUESTION = "How does a robot sense and move?"
RESULT = {
    "text": "text",
    "score": "share",
    "source_file": "text",
    "section_title": "none|text",
    "module": "text",
    "chapter": "whole",
    "lesson": "whole",
    "hardware_tier": "positive",
    "proficiency_level": "text",
    "layer": "text",
    "chunk_index": "whole",
    "total_chunks": "positive",
    "parent_doc_id": "uuid",
    "prev_chunk_id": "none|uuid",
    "next_chunk_id": "none|uuid",
    "content_hash": "sha256",
    "url": "text",
    "chapter_title": "text",
    "heading_path": "some",
}
RESPONSE = {
    "query": "text",
    "results": "some",
    "total_found": "positive",
    "hardware_tier_filter": "positive",
    "module_filter": "none|text",
    "book_id": "text",
    "average_score": "share",
    "has_sufficient_context": "bool",
    "retrieval_time_ms": "number",
    "retrieved_at": "moment",
    "filter_applied": "none|text",
}


async def found(up: Running, **fields: Any) -> dict[str, Any]:
    response = await up.http.post("/search", json={"text": QUESTION, **fields})
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


async def test_every_field_of_a_response(up: Running) -> None:
    told = await found(up, hardware_tier_filter=4, limit=20)
    assert misfits(told, RESPONSE) == [] and told["query"] == QUESTION
    assert len(told["results"]) == 20
    for result in told["results"]:
        assert misfits(result, RESULT) == []
    for field in ("section_title", "prev_chunk_id", "next_chunk_id"):
        assert any(result[field] for result in told["results"]), field
    scores = [result["score"] for result in told["results"]]
    assert scores == sorted(scores, reverse=True)
    hashes = [result["content_hash"] for result in told["results"]]
    assert len(set(hashes)) == len(hashes)


async def test_a_result_names_its_neighbours(up: Running) -> None:
    for result in (await found(up, hardware_tier_filter=4, limit=20))["results"]:
        whole = (await up.http.get(f"/lesson/{result['parent_doc_id']}")).json()["passages"]
        ids = [None, *(passage["id"] for passage in whole), None]
        at = result["chunk_index"] + 1
        assert ids[at - 1 : at + 2] == [
            result[name] for name in ("prev_chunk_id", "id", "next_chunk_id")
        ]
        assert result["total_chunks"] == len(whole)


@pytest.mark.parametrize(
    ("field", "value", "told_as"),
    [
        ("hardware_tier_filter", 3, "hardware_tier_filter"),
        ("module_filter", "gazebo", "module_filter"),
        ("prefix", "module-3-isaac", "filter_applied"),
    ],
)
async def test_the_filters_are_told(up: Running, field: str, value: Any, told_as: str) -> None:
    assert (await found(up, **{field: value}))[told_as] == value


async def test_the_shortest_text(up: Running) -> None:
    assert (await found(up, text="arm"))["query"] == "arm"


async def test_defaults(up: Running) -> None:
    told = await found(up)
    assert told["hardware_tier_filter"] == 1
    assert {result["hardware_tier"] for result in told["results"]} == {1}
    assert len(told["results"]) == 5 and told["book_id"] == "physical-ai-robotics"
    assert told["module_filter"] is None and told["filter_applied"] is None


Check = Callable[[dict[str, Any]], bool]


@pytest.mark.parametrize(
    ("filters", "holds"),
    [
        ({"hardware_tier_filter": 1}, lambda one: one["hardware_tier"] == 1),
        ({"hardware_tier_filter": 2}, lambda one: one["hardware_tier"] <= 2),
        ({"module_filter": "gazebo"}, lambda one: one["module"] == "gazebo"),
        ({"chapter_min": 2}, lambda one: one["chapter"] >= 2),
        ({"chapter_max": 1}, lambda one: one["chapter"] <= 1),
        ({"chapter_min": 2, "chapter_max": 2}, lambda one: one["chapter"] == 2),
        ({"lesson_filter": 1}, lambda one: one["lesson"] == 1),
        (
            {"proficiency_levels": ["A2", "B2"]},
            lambda one: one["proficiency_level"] in ("A2", "B2"),
        ),
        ({"layer_filter": "L2"}, lambda one: one["layer"] == "L2"),
        (
            {"module_filter": "ros2", "layer_filter": "L1", "hardware_tier_filter": 1},
            lambda one: (one["module"], one["layer"], one["hardware_tier"]) == ("ros2", "L1", 1),
        ),
        (
            {"prefix": "module-3-isaac"},
            lambda one: one["source_file"].startswith("module-3-isaac"),
        ),
    ],
)
async def test_filters_leave_what_fits(up: Running, filters: dict[str, Any], holds: Check) -> None:
    told = await found(up, **{"hardware_tier_filter": 4, "limit": 20, **filters})
    assert told["results"] and all(holds(result) for result in told["results"])
    rest = await found(up, hardware_tier_filter=4, limit=20)
    assert not all(holds(result) for result in rest["results"])


async def test_a_lesson_by_its_parent(up: Running) -> None:
    parent = (await found(up))["results"][0]["parent_doc_id"]
    told = await found(up, parent_doc_id=parent, hardware_tier_filter=4, limit=20)
    assert {result["parent_doc_id"] for result in told["results"]} == {parent}
    whole = (await up.http.get(f"/lesson/{parent}")).json()["passages"]
    assert {p["id"] for p in whole} == {result["id"] for result in told["results"]}
    assert [p["chunk_index"] for p in whole] == [*range(whole[0]["total_chunks"])]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", "ab"),
        ("text", "  ab  "),
        ("text", "..."),
        ("book_id", ""),
        ("book_id", "../x"),
        ("limit", 0),
        ("limit", 21),
        ("hardware_tier_filter", 0),
        ("hardware_tier_filter", 5),
        ("proficiency_levels", ["D1"]),
        ("layer_filter", "L5"),
        ("chapter_min", -1),
        ("lesson_filter", -1),
        ("prefix", "no-such-page"),
        ("sort", "best"),
    ],
)
async def test_what_is_no_query(up: Running, field: str, value: Any) -> None:
    response = await up.http.post("/search", json={"text": QUESTION, field: value})
    assert response.status_code == 400
    assert response.json()["details"]["field"].partition(".")[0] == field


async def test_a_module_that_the_book_lacks(up: Running) -> None:
    body = {"text": QUESTION, "module_filter": "no-such-module"}
    response = await up.http.post("/search", json=body)
    assert response.status_code == 400 and "no-such-module" in response.json()["message"]
    assert "gazebo" in response.json()["suggested_action"]


@pytest.mark.parametrize("limit", [1, 20])
async def test_the_bounds_of_a_limit(up: Running, limit: int) -> None:
    assert len((await found(up, limit=limit, hardware_tier_filter=4))["results"]) == limit
