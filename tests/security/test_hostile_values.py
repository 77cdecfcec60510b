"""Values that databases stumble over, in every field of every route, with each database: an answer
or a refusal with a code, never an error of ours, and nothing is lost by them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from booktext import WriteBook, small_book
from extent import FULL
from server.running import Running, running

Json = dict[str, Any]
VALUES: tuple[Any, ...] = (
    "a\x00b",
    "\ud800",
    "\udfff x",
    "'; DROP TABLE books; --",
    '" OR 1=1 --',
    "%s %(x)s :x $1 ? \\",
    "E'\\x41' || pg_sleep(9)",
    "{{7*7}} ${x}",
    2**31,
    2**63,
    -(2**63) - 1,
    10**400,
    1e308,
    True,
    None,
    [],
    {"a": 1},
    "x" * 3000,
    "\uffff\ufdd0\U0010ffff",
    "http://a:99999",
    "http://[",
    ["x" * 3000],
    ["\ud800"],
    ["https://a:99999"],
    [None],
    [[]],
)
# Of the fields that a route must have, what lets it get as far as the database.
GOOD: dict[str, Any] = {
    "message": "What is a node?",
    "query": "node",
    "model": "small",
    "messages": [{"role": "user", "content": "What is a node?"}],
    "rating": "up",
    "name": "site",
    "books": ["small"],
    "origins": ["https://docs.example.org"],
    "title": "Small",
}
MODEL = "/admin/model"
IN_PATHS = (
    *("%00", "a%00b", "%ff", "%ed%a0%80", "..%2f", "'%20OR%201=1--", "%25s", "-1"),
    *(
        str(2**31),
        str(2**63),
        "9" * 400,
        "1e9",
        "2026-01-01T00:00:00Z",
        "0001-01-01T00:00:00%2b14:00",
    ),
)


def routes_of(document: Json) -> Iterator[tuple[str, str, Json, list[str]]]:
    """Method, path, schema of the body, and the parameters of every route."""
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            if method == "delete":
                continue
            sent = route.get("requestBody", {}).get("content", {}).get("application/json", {})
            body = sent.get("schema", {})
            # One that may be left out is one of several.
            body = next((each for each in body.get("anyOf", ()) if "$ref" in each), body)
            name = body.get("$ref", "").rpartition("/")[2]
            schema = document["components"]["schemas"].get(name, {})
            given = [each["name"] for each in route.get("parameters", ()) if each["in"] != "header"]
            yield method.upper(), path, schema, given


def address(path: str, values: dict[str, str]) -> str:
    asked = []
    for name, value in values.items():
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", value)
        else:
            asked.append(f"{name}={value}")
    return f"{path}?{'&'.join(asked)}"


def part(values: Sequence[Any], tried: int) -> Sequence[Any]:
    """All of them; in `make test` a third, another one for each field."""
    return values if FULL else values[tried % 3 :: 3]


async def told(up: Running, method: str, path: str, body: Any = None) -> None:
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    response = await up.http.request(method, path, content=content, headers=headers)
    what = (method, path[:80], str(body)[:200], response.status_code, response.text[:300])
    assert response.status_code < 500, what
    assert "E000" not in response.text, what


async def test_no_value_is_too_odd_for_a_database(
    home: Path, write_book: WriteBook, database_url: str
) -> None:
    async with running(home, database_url=database_url, rate_limit=0) as up:
        await up.service.library.ingest(write_book(small_book()), book_id="small")
        # From the first key on, which one of the routes makes, nobody gets in without one.
        _, up.http.headers["X-API-Key"] = await up.service.keys.create("admin", ("admin",))
        before = (await up.http.get("/books")).json()
        answer = (await up.ask(GOOD["message"])).json()
        good = {**GOOD, "answer_id": answer["answer_id"]}
        document = (await up.http.get("/openapi.json")).json()
        tried = 0
        for method, path, schema, parameters in routes_of(document):
            known = {"session_id": answer["session_id"], "book_id": "small"}
            for parameter in parameters:
                for value in part(IN_PATHS, tried):
                    await told(up, method, address(path, {**known, parameter: value}))
                    tried += 1
            body = {name: good[name] for name in schema.get("required", ()) if name in good}
            if path == MODEL:  # nobody answers there, and nobody asks before the choice is undone
                body["address"] = "http://127.0.0.1:9/v1"
            for field in schema.get("properties", ()):
                for value in part(VALUES, tried):
                    await told(up, method, address(path, known), {**body, field: value})
                    tried += 1
            if path == MODEL:
                await up.http.delete(MODEL)
        assert tried > (1000 if FULL else 300)
        # Some of the values are good enough for a title.
        await up.http.patch("/admin/books/small", json={"title": before[0]["title"]})
        assert (await up.http.get("/books")).json() == before
