"""Examples of the OpenAPI document are what the service really tells."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import jsonschema_rs
import pytest

from bythebook.library import sample_book
from bythebook.models import examples
from bythebook.server.app import make_app
from bythebook.settings import Settings
from server.running import Running

Json = dict[str, Any]
PASSAGE = examples.PIECES["passage"]
# What differs from one request to the next.
OF_ONE_TIME = ("request_id", "timestamp")


def examples_in(document: Json) -> Iterator[tuple[str, Json, Any]]:
    """Each with its place and its schema."""
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            bodies = {"body": route.get("requestBody", {}), **route["responses"]}
            for status, body in bodies.items():
                told = body.get("content", {}).get("application/json", {})
                if "example" in told:
                    yield f"{method} {path} {status}", told.get("schema", {}), told["example"]
    for name, schema in document["components"]["schemas"].items():
        for example in (schema.get("example"), *schema.get("examples", ())):
            if example is not None:
                yield name, schema, example


def faults(document: Json) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, schema, example in examples_in(document):
        whole = {"allOf": [schema], "components": document["components"]}
        for error in jsonschema_rs.validator_for(whole).iter_errors(example):
            found[place] = error.message
    return found


def test_every_example_has_its_schema() -> None:
    document = make_app(Settings()).openapi()
    assert len([*examples_in(document)]) > 30
    assert faults(document) == {}


def test_an_example_that_lacks_a_field_is_found() -> None:
    document = make_app(Settings()).openapi()
    entry = document["paths"]["/search"]["post"]["responses"]["200"]["content"]
    del entry["application/json"]["example"]["results"][0]["prev_chunk_id"]
    (fault,) = faults(document).items()
    assert fault == ("post /search 200", '"prev_chunk_id" is a required property')


async def test_the_example_of_an_error_is_one(up: Running) -> None:
    told = (await up.ask("")).json()
    document = (await up.http.get("/openapi.json")).json()
    expected = document["components"]["schemas"]["Problem"]["example"]
    assert told.keys() == expected.keys()
    for name in told.keys() - set(OF_ONE_TIME):
        assert told[name] == expected[name]


def is_shortened(example: str, whole: str) -> bool:
    """Its parts between the dots stand in the whole, in this order."""
    at = [whole.find(part.strip()) for part in example.split("…")]
    return min(at) == 0 and all(one <= other for one, other in pairwise(at[:-1]))


@pytest.mark.parametrize(
    ("path", "example"),
    [
        (f"/context/{PASSAGE['id']}", examples.CONTEXT),
        (f"/lesson/{PASSAGE['parent_doc_id']}", examples.WHOLE_LESSON),
    ],
)
async def test_passages_are_those_of_the_sample_book(up: Running, path: str, example: Json) -> None:
    told = (await up.http.get(path)).json()
    assert {name: told[name] for name in example if name != "passages"} == {
        name: value for name, value in example.items() if name != "passages"
    }
    passage, expected = told["passages"][0], dict(example["passages"][0])
    assert is_shortened(expected.pop("text"), passage.pop("text"))
    assert passage == expected


async def test_a_search_finds_what_its_example_finds(up: Running) -> None:
    body = {"text": examples.SEARCH["query"], "limit": 1}
    told = (await up.http.post("/search", json=body)).json()
    same = ("query", "total_found", "hardware_tier_filter", "module_filter", "book_id")
    assert {name: told[name] for name in same} == {name: examples.SEARCH[name] for name in same}
    assert told["results"][0]["id"] == PASSAGE["id"]
    assert told["has_sufficient_context"] is examples.SEARCH["has_sufficient_context"]


async def test_a_citation_quotes_its_passage_and_its_file(up: Running) -> None:
    cited = examples.PIECES["citation"]
    (passage, *_) = (await up.http.get(f"/context/{cited['passage_id']}")).json()["passages"]
    assert passage["text"][cited["start"] : cited["end"]] == cited["quote"]
    source = (sample_book() / cited["source_file_path"]).read_text(encoding="utf-8")
    ((start, end),) = cited["source_spans"]
    assert source[start:end] == cited["quote"]
