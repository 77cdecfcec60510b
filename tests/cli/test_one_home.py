"""Commands beside a running service, and beside each other: the same as alone."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from booktext import WriteBook, lesson, section, small_book
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.settings import Settings
from cli.conftest import Cli
from extent import FULL, PATIENCE
from faults.process import ServiceProcess, client, service_process
from invariants import check_invariants
from server.running import until
from workers.fleet import write_lessons

Result = tuple[int, str, str]
# Enough that a service can end and come back meanwhile.
LESSONS = 120 if FULL else 60
QUESTIONS = [("What is a node?", True), ("What is a topic?", True), ("Who invented bread?", False)]
COMMANDS = (
    ("ask", "What is a node?"),
    ("ask", "What is a node?", "--json"),
    ("ask", "Who won the election in 1948?"),
    ("ask", "x" * 2000),
    ("search", "What is a node?", "--context", "1"),
    ("search", "What is a node?", "--json"),
    ("search", "What is a node?", "--book", "none"),
    ("chat",),
    ("books",),
    ("books", "--json"),
    ("keys", "list"),
    ("keys", "create", "website"),
    ("jobs", "--json"),
    ("gaps", "--json"),
    ("doctor",),
    ("eval", "--book", "small", "--limit", "3", "--json"),
    ("calibrate", "QUESTIONS", "--book", "small", "--out", "OUT/fit.json"),
    ("export", "small", "OUT/small.export"),
    ("backup", "OUT/all.backup"),
    ("ingest", "BOOK"),
    ("ingest", "BOOK", "--mode", "full", "--json"),
    ("ingest", "BOOK", "--book", "second"),
    ("ingest", "OUT/missing"),
    ("import", "OUT/small.export", "--replace"),
    ("books", "--remove", "second"),
    ("books", "--remove", "second", "--json"),
)
# What is another each time: ids, moments, durations, sizes of packed files, keys.
CHANGING = (
    r'"(?!book_id)\w*(_at|_id|_ms|seconds|time|version|p50|p95|ms)": [^,\n]+',
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}",
    r"\d{4}-\d\d-\d\d([ T][\d:.]+)?",
    r"\d+(\.\d+)? (s|ms|MB)\b",
    r"btb_\S+|\(id \w+\)",
)


@pytest.fixture
def book(write_book: WriteBook) -> Path:
    return write_book(small_book())


@pytest.fixture
def ingested(cli: Cli, home: Path, book: Path) -> Path:
    assert cli("ingest", str(book))[0] == 0
    return home


@pytest.fixture
def served(ingested: Path) -> Iterator[ServiceProcess]:
    service = ServiceProcess(ingested)
    yield service
    service.end()


def results(cli: Cli, book: Path, out: Path) -> list[Result]:
    """Of all commands, less what is another each time."""
    out.mkdir()
    questions = out / "questions.jsonl"
    lines = [{"question": text, "covered": covered} for text, covered in QUESTIONS]
    questions.write_text("\n".join(map(json.dumps, lines)))
    places = {"BOOK": str(book), "OUT": str(out), "QUESTIONS": str(questions)}
    found: list[Result] = []
    for command in COMMANDS:
        words = [re.sub("^[A-Z]{3,}", lambda word: places[word[0]], part) for part in command]
        typed = "What is a node?\nWhat is a topic?\n/sources\n"
        status, said, told = cli(*words, typed=typed)
        found.append((status, _lasting(said, out), _lasting(told, out)))
    return found


def _lasting(text: str, out: Path) -> str:
    for pattern in CHANGING:
        text = re.sub(pattern, "…", text)
    return text.replace(str(out.parent), "")


def test_every_command_does_the_same_beside_a_service(
    cli: Cli, ingested: Path, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("alone", "beside"):
        shutil.copytree(ingested, tmp_path / name / "home")
    monkeypatch.setenv("BYTHEBOOK_HOME", str(tmp_path / "alone/home"))
    alone = results(cli, book, tmp_path / "alone/out")
    assert [status for status, _, _ in alone].count(0) == len(COMMANDS) - 5
    monkeypatch.setenv("BYTHEBOOK_HOME", str(tmp_path / "beside/home"))
    service = ServiceProcess(tmp_path / "beside/home")
    try:
        beside = results(cli, book, tmp_path / "beside/out")
        for command, expected, found in zip(COMMANDS, alone, beside, strict=True):
            assert found == expected, command
        assert "Traceback" not in service.log
    finally:
        assert service.end(signal.SIGTERM) == 0
    left = {path.name for path in (tmp_path / "beside/home/index").iterdir()}
    assert not any(name.endswith(".door") for name in left), left


def test_what_needs_the_index_alone_says_so(
    cli: Cli, served: ServiceProcess, tmp_path: Path
) -> None:
    file = str(tmp_path / "all.backup")
    assert cli("backup", file)[0] == 0
    for command in (("restore", file, "--force"), ("doctor", "--repair")):
        status, out, err = cli(*command)
        assert status == 1 and "needs it" in out + err and "Stop the service" in out + err, command
    assert cli("search", "What is a node?")[0] == 0
    assert served.end(signal.SIGTERM) == 0
    assert cli("restore", file, "--force")[0] == 0


def test_a_service_that_was_killed_leaves_nothing_that_misleads(
    cli: Cli, served: ServiceProcess, ingested: Path, book: Path
) -> None:
    expected = cli("search", "What is a node?")
    served.end()
    assert list((ingested / "index").glob("*.door"))  # it had no time to take it away
    assert cli("search", "What is a node?") == expected
    assert not list((ingested / "index").glob("*.door"))
    assert cli("ingest", str(book), "--mode", "full")[0] == 0
    again = ServiceProcess(ingested)
    try:
        assert cli("search", "What is a node?") == expected
    finally:
        assert again.end(signal.SIGTERM) == 0


def started(home: Path, *arguments: str) -> subprocess.Popen[str]:
    """A command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "bythebook", *arguments],
        env={**os.environ, "BYTHEBOOK_HOME": str(home), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def ended(process: subprocess.Popen[str]) -> str:
    """What it said; it must have done its work."""
    said, told = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
    assert process.returncode == 0, told
    assert "Traceback" not in told
    return said


@pytest.mark.parametrize("with_service", [True, False] if FULL else [True])
async def test_two_ingests_at_once(home: Path, tmp_path: Path, with_service: bool) -> None:
    books = [write_lessons(tmp_path / name, 24) for name in ("one", "two")]
    service = await asyncio.to_thread(ServiceProcess, home) if with_service else None
    try:
        ingests = [started(home, "ingest", str(book)) for book in books]
        for ingest in ingests:
            assert "24 of 24 files read" in await ended(ingest)
        if service is not None:
            async with client(service) as http:
                asked = {"text": "What is a node?", "book_id": "two"}
                found = (await http.post("/search", json=asked)).json()
                assert found["results"][0]["source_file"].endswith("lesson.md")
    finally:
        if service is not None:
            await asyncio.to_thread(service.end, signal.SIGTERM)
    async with await Library.open(Settings(home=home)) as library:
        for name in ("one", "two"):
            await check_invariants(library, name)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_an_ingest_goes_on_when_the_service_ends(
    home: Path, tmp_path: Path, write_book: WriteBook, how: signal.Signals
) -> None:
    book = write_lessons(tmp_path / "one", LESSONS)
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(write_book(small_book()))
    async with service_process(home) as (service, http):
        ingest = started(home, "ingest", str(book))

        async def under_way() -> bool:
            job = (await http.get("/ingestion/status")).json()[0]
            return bool(job["book_id"] == "one" and job["files_processed"])

        await until(under_way)
        status = await asyncio.to_thread(service.end, how)
        assert status == (0 if how == signal.SIGTERM else -how)
        # A service that comes back finds the index in use, and shares it.
        async with service_process(home) as (_, again):
            answer = await again.post(
                "/chat/run", json={"message": "What is a node?", "book_id": "small"}
            )
            assert answer.status_code == 200 and answer.json()["sources"]
            assert f"{LESSONS} of {LESSONS} files read" in await ended(ingest)
            asked = {"text": "What is a node?", "book_id": "one"}
            found = await again.post("/search", json=asked)
            assert found.json()["results"]
    async with await Library.open(Settings(home=home)) as library:
        await check_invariants(library, "one")


async def test_a_chat_that_waits_for_a_person_keeps_nobody_out(
    home: Path, write_book: WriteBook
) -> None:
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(write_book(small_book()))
    chat = started(home, "chat")
    assert chat.stdin and chat.stdout
    chat.stdin.write("What is a node?\n")
    chat.stdin.flush()
    seen = ""
    while "node" not in seen:  # it answers
        seen += await asyncio.to_thread(chat.stdout.readline)
    async with await Library.open(Settings(home=home)) as library:
        query = SearchQuery(text="What is a node?", book_id="small", hardware_tier_filter=4)
        assert (await library.search(query)).passages
        rest, _ = await asyncio.to_thread(chat.communicate, "What is a topic?\nquit\n")
    assert "channel" in rest and chat.returncode == 0


async def test_a_page_changed_by_a_command_is_answered_by_the_service(
    home: Path, write_book: WriteBook
) -> None:
    book = write_book(small_book())
    async with service_process(home) as (_, http):
        await ended(started(home, "ingest", str(book)))
        page = "module-1-ros/chapter-1/02-bread.md"
        write_book({page: lesson("Bread", section("How dough rests", "cooking"))})
        await ended(started(home, "ingest", str(book)))
        answer = (
            await http.post("/chat/run", json={"message": "How long does dough rest?"})
        ).json()
        assert "hour" in answer["response"] and "bread" in answer["sources"][0]["url"]
