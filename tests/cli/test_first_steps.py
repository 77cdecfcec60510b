"""What a newcomer does that is not quite as meant: it works, or one sentence says what to do."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from booktext import WriteBook, small_book
from bythebook.library import Library
from bythebook.settings import Settings
from cli.conftest import Cli
from extent import PATIENCE
from server.running import running


def test_a_question_needs_no_quotes(cli: Cli, write_book: WriteBook) -> None:
    cli.json("ingest", str(write_book(small_book())))
    found = cli.json("search", "What", "is", "a", "node", "--limit", "1")
    assert found["query"] == "What is a node"
    assert cli("ask", "What", "is", "a", "node?")[:2] == cli("ask", "What is a node?")[:2]


def test_a_generic_folder_says_how_the_book_is_named(cli: Cli, tmp_path: Path) -> None:
    docs = tmp_path / "pumps" / "docs"
    docs.mkdir(parents=True)
    (docs / "a.md").write_text("# Valves\n\nA valve controls the flow of water.\n")
    status, out, err = cli("ingest", str(docs))
    assert status == 0 and out.startswith("pumps: ")
    assert 'The book is called "Pumps", with the id pumps.' in err and "--book ID" in err
    assert "bythebook ask --book pumps" in err
    # Its project gets a title later: the book keeps its id, and nothing more is said of it.
    (docs / "conf.py").write_text("project = 'Pump Works'\n")
    status, out, err = cli("ingest", str(docs), "--mode", "full")
    assert status == 0 and out.startswith("pumps: ") and "The book is called" not in err
    assert [(book["book_id"], book["title"]) for book in cli.json("books")] == [
        ("pumps", "Pump Works")
    ]
    assert cli("ingest", str(docs), "--book", "named")[1].startswith("named: ")


def test_two_sites_of_one_title_are_two_books(cli: Cli, tmp_path: Path) -> None:
    for project in ("one", "two"):
        docs = tmp_path / project / "docs"
        docs.mkdir(parents=True)
        (docs / "conf.py").write_text("project = 'My Docs'\n")
        (docs / "a.md").write_text(f"# Valves of {project}\n\nA valve controls the water.\n")
    assert cli("ingest", str(tmp_path / "one" / "docs"))[1].startswith("my-docs: ")
    status, _, err = cli("ingest", str(tmp_path / "two" / "docs"))
    assert status == 1 and "a book my-docs already" in err and "--book ID" in err
    assert cli("ingest", str(tmp_path / "two" / "docs"), "--book", "two")[0] == 0
    assert {book["book_id"] for book in cli.json("books")} == {"my-docs", "two"}


def test_the_list_of_commands_cuts_no_sentence(cli: Cli) -> None:
    for command in ((), ("keys",)):
        status, out, _ = cli(*command, "--help")
        listed = out.partition("Commands:")[2]
        assert status == 0 and listed.strip() and "..." not in listed


def test_jobs_fit_a_narrow_terminal(home: Path, write_book: WriteBook) -> None:
    source = str(write_book(small_book()))
    for command in (
        ("ingest", source, "--book", "physical-ai-robotics", "--mode", "full"),
        ("jobs",),
    ):
        shown = subprocess.run(
            [sys.executable, "-m", "bythebook", *command],
            env={**os.environ, "BYTHEBOOK_HOME": str(home), "COLUMNS": "80"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        ).stdout
    for whole in ("physical-ai-robotics", "completed", "(full)", "4/4", "4 added"):
        assert whole in shown
    assert "…" not in shown and max(map(len, shown.splitlines())) <= 80


def test_one_thing_is_counted_as_one(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "valves").mkdir()
    (tmp_path / "valves" / "a.md").write_text("# Valves\n\nA valve controls the flow of water.\n")
    assert "1 passage added, 0 removed" in cli("ingest", str(tmp_path / "valves"))[1]
    status, out, _ = cli("doctor")
    assert status == 0 and "book valves: it has only one passage" in out
    assert "Removed valves (1 passage)." in cli("books", "--remove", "valves")[2]


def test_a_port_in_use_is_said(cli: Cli, home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        status, _, err = cli("serve", "--port", port)
    assert status == 1
    assert f"already listens on 127.0.0.1, port {port}" in err and "--port 8001" in err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("ask", " "), "QUESTION is blank. "),
        (("ask", "x" * 1001), "QUESTION should have at most 1000 characters. "),
        (("ask", "why", "--top-k", "11"), "--top-k should be less than or equal to 10. "),
        (("search", "..."), "TEXT has no words. "),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(
    cli: Cli, command: tuple[str, ...], said: str
) -> None:
    status, _, err = cli(*command)
    assert status == 1 and err == f"Error E005: {said}See `bythebook {command[0]} --help`.\n"


def test_the_first_key_says_what_it_closes(cli: Cli) -> None:
    status, _, err = cli("keys", "create", "one")
    assert status == 0 and "first key" in err and "page on this machine" in err
    assert "first key" not in cli("keys", "create", "two")[2]


def test_a_person_is_asked_before_the_first_key(home: Path) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"n\n")
    made = subprocess.run(
        [sys.executable, "-m", "bythebook", "keys", "create", "one"],
        env={**os.environ, "BYTHEBOOK_HOME": str(home)},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=PATIENCE,
        check=False,
    )
    assert made.returncode == 1 and b"btb_" not in made.stdout
    assert b"Make it?" in os.read(ours, 10_000)
    os.close(ours)
    os.close(theirs)


async def test_bodies_under_another_name_or_type(home: Path, write_book: WriteBook) -> None:
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(write_book(small_book()))
    async with running(home) as up:
        for route, name in (
            ("/chat/run", "text"),
            ("/search", "message"),
            ("/api/v1/agent/chat", "text"),
        ):
            answer = await up.http.post(route, json={name: "What is a node?"})
            assert answer.status_code == 200, answer.text
        refused = await up.http.post("/chat/run", json={"msg": "What is a node?"})
        assert refused.json()["message"] == "The field message is missing."
        typed: list[dict[str, str]] = [{}, {"Content-Type": "application/x-www-form-urlencoded"}]
        for headers in typed:
            content = b'{"message": "What is a node?"}'
            refused = await up.http.post("/chat/run", content=content, headers=headers)
            assert refused.status_code == 400
            assert "Content-Type: application/json" in refused.json()["suggested_action"]
