"""The page, the admin's page and the widget: what is served, how, how much, and nothing else."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from bythebook.server.routes.page_routes import FOLDER, POLICY, TYPES
from server.conftest import Serve
from server.running import Running

FILES = sorted(file for file in FOLDER.rglob("*") if file.suffix in TYPES)
SCRIPTS = [file for file in FILES if file.suffix == ".js"]
PAGES = [file for file in FILES if file.suffix == ".html"]
# The side panel's page context took 3 kB of it.
MAX_FIRST_PAINT = 109_000
MAX_WIDGET = 30_000
MAX_LINES = 350
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
IMPORT = re.compile(r"(?:^|\n)\s*(?:import|export)\b[^;]*?[\"'](\.[^\"']+)[\"'];")


def address(file: Path) -> str:
    return f"/web/{file.relative_to(FOLDER).as_posix()}"


def code_of(file: Path) -> str:
    return COMMENT.sub("", file.read_text(encoding="utf-8"))


def loaded_with(script: Path) -> set[Path]:
    """A module and all that it imports before it runs."""
    found: set[Path] = set()
    waiting = [script]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += [(file.parent / name).resolve() for name in IMPORT.findall(code_of(file))]
    return found


def named_in(page: Path) -> set[Path]:
    """The files of ours that a page names."""
    names = re.findall(r'(?:href|src)="/web/([^"]+)"', page.read_text(encoding="utf-8"))
    return {FOLDER / name for name in names}


async def get_raw(up: Running, target: str) -> bytes:
    """The answer to a target that a client would tidy up."""
    url = httpx.URL(up.server.address)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: {url.host}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_pages_allow_nothing_from_elsewhere(up: Running) -> None:
    for path in ("/", "/admin"):
        response = await up.http.get(path)
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert response.headers["content-security-policy"] == POLICY
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in response.headers
    assert "unsafe" not in POLICY and "default-src 'none'" in POLICY


async def test_pages_and_files_need_no_key(serve: Serve) -> None:
    async with serve() as up:
        await up.service.keys.create("somebody", ["chat"])
        assert (await up.http.get("/books")).status_code == 401
        for path in ("/", "/admin", "/widget.js", "/web/chat/element.js"):
            assert (await up.http.get(path)).status_code == 200


async def test_every_file_is_served_as_what_it_is(up: Running) -> None:
    assert len(SCRIPTS) > 20
    for file in FILES:
        response = await up.http.get(address(file))
        if file.suffix == ".html":
            assert response.status_code == 404
            continue
        assert response.status_code == 200
        assert response.content == file.read_bytes()
        assert response.headers["content-type"] == TYPES[file.suffix]
        assert response.headers["x-content-type-options"] == "nosniff"


async def test_files_can_be_loaded_by_pages_of_other_sites(up: Running) -> None:
    for path in ("/widget.js", "/web/chat/element.js"):
        response = await up.http.get(path, headers={"Origin": "https://book.example.org"})
        assert response.status_code == 200
        assert response.headers["access-control-allow-origin"] == "*"
        assert response.headers["cross-origin-resource-policy"] == "cross-origin"


async def test_a_browser_asks_again_and_is_told_when_nothing_changed(up: Running) -> None:
    for path in ("/", "/widget.js", "/web/page.css"):
        first = await up.http.get(path)
        assert first.headers["cache-control"] == "no-cache"
        etag = first.headers["etag"]
        for given in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            again = await up.http.get(path, headers={"If-None-Match": given})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == etag
        other = await up.http.get(path, headers={"If-None-Match": '"other"'})
        assert other.status_code == 200


async def test_files_are_zipped_for_those_who_take_it(up: Running) -> None:
    zipped = await up.http.get("/widget.js")
    plain = await up.http.get("/widget.js", headers={"Accept-Encoding": "identity"})
    assert zipped.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert zipped.content == plain.content
    assert int(zipped.headers["content-length"]) < int(plain.headers["content-length"])
    assert zipped.headers["etag"] != plain.headers["etag"]
    assert "Accept-Encoding" in plain.headers["vary"]


async def test_nothing_else_is_served(up: Running) -> None:
    for target in (
        "/web/../settings.py",
        "/web/../server/app.py",
        "/web/chat/../../settings.py",
        "/web/chat/../index.html",
        "/web/%2e%2e/settings.py",
        "/web/..%2fsettings.py",
        "/web/..%5csettings.py",
        "/web//etc/passwd",
        "/web/%2fetc/passwd",
        "/web/__init__.py",
        "/web/chat",
        "/web/chat/",
        "/web/",
        "/web/nothing.js",
        "/web/widget.js%00.css",
    ):
        answer = await get_raw(up, target)
        assert answer.startswith(b"HTTP/1.1 404 "), target
        assert b"There is nothing at this address." in answer


def test_the_first_paint_is_small() -> None:
    needed = loaded_with(FOLDER / "page.js") | named_in(FOLDER / "index.html")
    needed.add(FOLDER / "index.html")
    assert FOLDER / "chat" / "element.js" in needed
    assert sum(file.stat().st_size for file in needed) < MAX_FIRST_PAINT


def test_the_widget_is_small_until_it_is_opened() -> None:
    widget = FOLDER / "widget.js"
    assert loaded_with(widget) == {widget}
    assert widget.stat().st_size < MAX_WIDGET


def test_the_page_names_all_that_it_will_need() -> None:
    """So that a browser fetches it all at once, not one import after the other."""
    assert loaded_with(FOLDER / "page.js") <= named_in(FOLDER / "index.html")


@pytest.mark.parametrize("file", [*SCRIPTS, *PAGES], ids=address)
def test_every_file_that_is_named_is_there(file: Path) -> None:
    wanted = loaded_with(file) if file.suffix == ".js" else named_in(file)
    assert wanted
    assert all(each in FILES for each in wanted)


@pytest.mark.parametrize("file", PAGES, ids=address)
def test_pages_have_nothing_inline(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)", text)
    assert not re.search(r'(?:href|src)="(?:https?:)?//', text)


@pytest.mark.parametrize("file", SCRIPTS, ids=address)
def test_html_is_made_in_one_place_only(file: Path) -> None:
    risky = re.findall(
        r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|createContextualFragment"
        r"|DOMParser|\beval\(|new Function|setAttribute\(\"style",
        code_of(file),
    )
    assert risky == (["innerHTML"] if file == FOLDER / "chat" / "dom.js" else [])


@pytest.mark.parametrize("file", SCRIPTS, ids=address)
def test_scripts_are_short(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


async def test_the_page_took_the_place_of_the_reference(up: Running) -> None:
    home = await up.http.get("/")
    assert "<bythebook-chat>" in home.text
    assert (await up.http.get("/docs")).status_code == 200
    paths = (await up.http.get("/openapi.json")).json()["paths"]
    assert not {"/", "/admin", "/widget.js", "/web/{path}"} & set(paths)
