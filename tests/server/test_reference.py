"""The reference is complete, its links lead somewhere, and its page is safe to open."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

import pytest
from fastapi import Depends, FastAPI, Path, Query, Security
from fastapi.responses import PlainTextResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from bythebook.server.app import make_app
from bythebook.server.markdown_page import PAGE_POLICY, page
from bythebook.server.reference import reference
from bythebook.settings import Settings

DOCUMENT = FilePath(__file__).parents[2] / "docs" / "reference" / "http-api.md"

bearer = HTTPBearer(auto_error=False)


async def caller(token: Annotated[Any, Depends(bearer)]) -> str:
    return "somebody"


Reader = Annotated[str, Security(caller, scopes=["read"])]


class Place(BaseModel):
    """Where | it lies."""

    model_config = ConfigDict(json_schema_extra={"example": {"page": 3, "kind": "sea"}})

    page: int | None = Field(default=None, ge=1, le=2_000_000)
    kind: Literal["sea", "land"] = "sea"


class Question(BaseModel):
    """A question; see `Place`."""

    model_config = ConfigDict(json_schema_extra={"example": {"text": "When?", "who": "it's me"}})

    text: str = Field(min_length=1, max_length=10, description="What\nyou | want <b>now</b>.")
    who: str = Field(examples=["it's me"])
    places: list[Place] = []
    pair: tuple[int, float] = (1, 2.5)
    share: float = Field(default=0.5, gt=0, lt=1)
    thread: str | None = Field(default=None, pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
    more: dict[str, Place] = {}


class Trouble(BaseModel):
    what: str


TROUBLE: dict[int | str, dict[str, Any]] = {404: {"model": Trouble, "description": "It is gone."}}


def small_app() -> FastAPI:
    app = FastAPI(title="Tides", version="1.2", description="Ask; fails with `Trouble`.")

    @app.post("/ask/{number}", tags=["asking"], summary="Ask", responses=TROUBLE)
    async def ask(
        caller: Reader,
        number: Annotated[int, Path(ge=1, description="Which.")],
        question: Question,
        deep: Annotated[bool, Query(description="How.")] = False,
    ) -> Place:
        """Asks <script>alert(1)</script> the sea."""
        return Place()

    @app.get("/places", tags=["places"], responses=TROUBLE)
    async def places(near: Annotated[str, Query(examples=["the sea"])]) -> list[Place]:
        return []

    @app.get(
        "/place",
        tags=["places"],
        response_class=PlainTextResponse,
        responses={200: {"content": {"text/plain": {"example": "a\nb"}}}},
    )
    async def place() -> str:
        return ""

    return app


@pytest.fixture(scope="module")
def small() -> str:
    return reference(small_app().openapi())


@pytest.fixture(scope="module")
def whole() -> str:
    return reference(make_app(Settings()).openapi())


def section(markdown: str, heading: str) -> str:
    found = re.search(rf"^### `{re.escape(heading)}`\n(.*?)(?=^##|\Z)", markdown, re.M | re.S)
    assert found, heading
    return found[1]


def rows(text: str) -> dict[str, list[str]]:
    """The rows of tables by their first cell."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [re.split(r" (?<!\\)\| ?", line.removeprefix("| ").removesuffix("|")) for line in lines]
    return {row[0].strip("`"): [cell.strip() for cell in row[1:]] for row in cells}


def test_a_route_tells_what_it_takes_and_who_may_ask(small: str) -> None:
    told = section(small, "POST /ask/{number}")
    assert "**Ask.**" in told
    assert "Needs a key with the scope `read`." in told
    found = rows(told)
    assert found["number"][:4] == ["path", "integer, at least 1", "required", "Which."]
    assert found["deep"][:4] == ["query", "boolean", "`false`", "How."]
    assert "Body: [`Question`](#question)." in told
    assert "Needs no key." in section(small, "GET /places")


def test_the_fields_of_a_body_have_types_bounds_and_defaults(small: str) -> None:
    found = rows(section(small, "POST /ask/{number}"))
    what = "What you \\| want <b>now</b>."
    assert found["text"][:3] == ["string, 1 to 10 characters", "required", what]
    assert found["places"][:2] == ["list of [`Place`](#place)", "`[]`"]
    assert found["pair"][:2] == ["[integer, number]", "`[1, 2.5]`"]
    assert found["share"][:2] == ["number, above 0, below 1", "`0.5`"]
    assert found["thread"][0] == "string, a UUID, or null"
    assert found["more"][0] == "object with values [`Place`](#place)"


def test_models_are_told_once_and_linked(small: str) -> None:
    place = rows(section(small, "Place"))
    assert place["page"][0] == "integer, 1 to 2000000, or null"
    assert place["kind"][0] == '`"sea"` or `"land"`'
    body = section(small, "Question")
    assert "Its fields are told with [`POST /ask/{number}`](#post-asknumber)." in body
    assert "see [`Place`](#place)" in body
    assert "fails with [`Trouble`](#trouble)" in small


def test_errors_that_routes_share_are_told_in_one_place(small: str) -> None:
    assert small.count("It is gone.") == 1
    assert "[Errors](#errors): 404, 422." in section(small, "GET /places")


def test_the_curl_line_is_one_that_a_shell_understands(small: str) -> None:
    told = section(small, "POST /ask/{number}")
    (command,) = re.findall(r"```sh\n(.*?)```", told, re.S)
    words = shlex.split(command)
    assert words[:4] == ["curl", "-X", "POST", "http://127.0.0.1:8000/ask/$NUMBER"]
    assert "Authorization: Bearer $BYTHEBOOK_KEY" in words
    sent = json.loads(words[words.index("-d") + 1])
    assert sent == {"text": "When?", "who": "it's me"}
    Question(**sent)
    (command,) = re.findall(r"```sh\n(.*?)```", section(small, "GET /places"), re.S)
    assert shlex.split(command) == ["curl", "http://127.0.0.1:8000/places?near=the%20sea"]


def test_examples_of_responses_are_those_of_the_models(small: str) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", section(small, "GET /places"), re.S)
    assert json.loads(example) == [{"page": 3, "kind": "sea"}]
    assert "```text\na\nb\n```" in section(small, "GET /place")


def slug(heading: str) -> str:
    """GitHub's anchor, as its users describe it: small letters, no punctuation, hyphens."""
    kept = [c for c in heading.lower().strip() if c.isalnum() or c in "-_ "]
    return "".join(kept).replace(" ", "-")


def anchors(markdown: str) -> list[str]:
    """Headings outside of code, as GitHub names them; the second of a name gets a number."""
    text = re.sub(r"^```.*?^```", "", markdown, flags=re.M | re.S)
    found: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        name = slug(heading)
        seen = sum(1 for other in found if re.fullmatch(rf"{re.escape(name)}(-\d+)?", other))
        found.append(f"{name}-{seen}" if seen else name)
    return found


@pytest.mark.parametrize("which", ["small", "whole"])
def test_every_link_leads_to_a_heading(which: str, request: pytest.FixtureRequest) -> None:
    markdown = request.getfixturevalue(which)
    links = set(re.findall(r"\]\(#([^)]*)\)", markdown))
    assert links
    assert links <= set(anchors(markdown))


class Structure(HTMLParser):
    """What the page is made of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("which", ["small", "whole"])
def test_the_page_is_sound_and_its_links_work(which: str, request: pytest.FixtureRequest) -> None:
    found = Structure(page(request.getfixturevalue(which)))
    assert not found.open
    assert len(found.ids) == len(set(found.ids))
    assert found.links
    assert all(link.startswith("#") for link in found.links)
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)
    for tag in ("h1", "nav", "main", "title"):
        assert found.tags.count(tag) == 1


@pytest.mark.parametrize("which", ["small", "whole"])
def test_the_page_runs_and_loads_nothing(which: str, request: pytest.FixtureRequest) -> None:
    html = page(request.getfixturevalue(which))
    found = Structure(html)
    assert not {"script", "link", "img", "iframe", "b"} & set(found.tags)
    assert not {name for name in found.attributes if name == "style" or name.startswith("on")}
    assert "url(" not in html
    assert "@import" not in html


def test_what_is_written_in_descriptions_is_text_on_the_page(small: str) -> None:
    html = page(small)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "&lt;b&gt;now&lt;/b&gt;" in html
    assert 'href="javascript:' not in page("# x\n\n[click](javascript:alert(1))")


def test_the_policy_allows_the_style_of_the_page_and_nothing_else(small: str) -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", page(small), re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    allowed = dict(part.strip().split(" ", 1) for part in PAGE_POLICY.split(";"))
    assert allowed.pop("style-src") == f"'sha256-{digest}'"
    assert allowed.pop("default-src") == "'none'"
    assert set(allowed.values()) == {"'none'"}


def test_every_route_of_the_service_is_told(whole: str) -> None:
    document = make_app(Settings()).openapi()
    for path, methods in document["paths"].items():
        for method in methods:
            told = section(whole, f"{method.upper()} {path}")
            assert re.search(r"^\*\*.+\.\*\*$", told, re.M), "has no summary"
            assert "```sh\ncurl " in told
            assert "-d '\"…\"'" not in told or path.startswith("/admin/books/"), "has no example"
            assert re.search(r"^\| 2\d\d \|", told, re.M)
    for model in document["components"]["schemas"]:
        assert section(whole, model)


def test_the_written_reference_is_that_of_the_service(whole: str) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.partition("\n\n")[2] == whole, "run `python scripts/make_reference.py`"
