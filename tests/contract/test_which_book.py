"""Several books and none named: the configured one, or whoever sits at the terminal chooses."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from booktext import WriteBook, lesson, section
from bythebook.library import Library
from bythebook.settings import Settings
from cli.conftest import Cli
from server.running import running
from server.test_mcp_routes import connected

QUESTION = "What is a node?"
LIST = "There are several books:\n  1. Aviaries (aviaries)\n  2. Robots (robots)\n"
ENDED = 5  # what reading from a terminal tells whose other end is closed


@pytest.fixture
async def two_books(home: Path, write_book: WriteBook) -> AsyncIterator[Path]:
    text = {
        f"{name}/01-first.md": lesson(title, *(section(f"{title} {n}", "nodes") for n in range(5)))
        for name, title in (("robots", "Robots"), ("aviaries", "Aviaries"))
    }
    root = write_book(text)
    async with await Library.open(Settings(home=home)) as library:
        for name in ("robots", "aviaries"):
            await library.ingest(root / name, book_id=name)
    yield home


def at_terminal(*arguments: str, typed: str) -> tuple[int, str]:
    """A command of a person at a terminal, and all that stood on it."""
    own, theirs = pty.openpty()
    command = [sys.executable, "-m", "bythebook", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(own, typed.encode())
        shown = b""
        try:
            while piece := os.read(own, 65536):
                shown += piece
        except OSError as problem:
            assert problem.errno == ENDED
    os.close(own)
    return process.returncode, shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("arguments", "typed", "chosen"),
    [
        (("ask", QUESTION), "2\n", "Robots"),
        (("ask", QUESTION), "0\nthree\naviaries\n", "Aviaries"),
        (("search", "nodes of a robot"), "1\n", "Aviaries"),
        (("chat",), f"2\n{QUESTION}\nquit\n", "Robots"),
    ],
)
def test_a_person_chooses(
    two_books: Path, arguments: tuple[str, ...], typed: str, chosen: str
) -> None:
    status, shown = at_terminal(*arguments, typed=typed)
    assert status == 0, shown
    listed, _, rest = shown.partition("Which one? 1 to 2: ")
    assert listed.endswith(LIST)
    other = {"Robots": "Aviaries", "Aviaries": "Robots"}[chosen]
    assert chosen in rest and other not in rest


def test_a_person_who_does_not_choose(two_books: Path) -> None:
    status, shown = at_terminal("ask", QUESTION, typed="\n")
    assert status == 1 and "No book was chosen" in shown and "--book" in shown


@pytest.mark.parametrize("command", [["ask", QUESTION], ["search", "nodes"], ["chat"]])
def test_a_script_is_told_the_ids(cli: Cli, two_books: Path, command: list[str]) -> None:
    status, _, err = cli(*command)
    assert status == 1 and "aviaries, robots" in err
    assert "--book" in err and "BYTHEBOOK_BOOK" in err


def test_json_never_asks(two_books: Path) -> None:
    status, shown = at_terminal("ask", QUESTION, "--json", typed="")
    assert status == 1 and '"status": "error"' in shown and "aviaries, robots" in shown


def test_the_configured_book(cli: Cli, two_books: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTHEBOOK_BOOK", "robots")
    assert cli.json("ask", QUESTION)["sources"][0]["section"].startswith("Robots")
    assert cli.json("search", "nodes")["book_id"] == "robots"
    assert "Robots" in cli("chat", typed="quit\n")[1]
    status, shown = at_terminal("ask", QUESTION, typed="")
    assert status == 0 and "several books" not in shown


async def test_over_http(two_books: Path) -> None:
    body = {"text": "nodes of a robot"}
    async with running(two_books) as up:
        refused = await up.http.post("/search", json=body)
        assert refused.status_code == 400 and refused.json()["details"] == {"field": "book_id"}
        assert "aviaries, robots" in refused.json()["message"]
        assert (await up.ask(QUESTION)).status_code == 400
    async with running(two_books, book_id="robots") as up:
        assert (await up.http.post("/search", json=body)).json()["book_id"] == "robots"
        answer = (await up.ask(QUESTION)).json()
        assert answer["sources"][0]["section"].startswith("Robots")
        named = (await up.ask(QUESTION, book_id="aviaries")).json()
        assert named["sources"][0]["section"].startswith("Aviaries")
        async with connected(up) as client:
            found = await client.call_tool("search_knowledge_base", {"query": "nodes"})
            assert found.structured_content["book_id"] == "robots"
