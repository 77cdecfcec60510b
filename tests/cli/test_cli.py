"""The command line as a person and a script use it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from booktext import WriteBook, small_book
from bythebook.models.job import IngestionJob
from bythebook.models.search_messages import SearchResponse
from bythebook.settings import REFUSAL
from cli.conftest import Cli


def test_ingest_search_books_jobs_doctor(cli: Cli, write_book: WriteBook) -> None:
    book = str(write_book(small_book()))
    job = IngestionJob.model_validate(cli.json("ingest", book))
    assert job.status == "completed" and job.files_processed == 4

    response = SearchResponse.model_validate(cli.json("search", "What is a node?", "--limit", "2"))
    assert response.book_id == "small" and len(response.results) == 2
    assert response.results[0].section_title == "What a node is"

    status, out, _ = cli("search", "What is a node?")
    assert status == 0 and "Nodes › What a node is" in out and "https://b.example" in out

    (listed,) = cli.json("books")
    assert {
        "book_id": "small",
        "title": "A small book",
        "total_chunks": 8,
    }.items() <= listed.items()
    assert listed["embedding_model"]
    assert "A small book" in cli("books")[1]

    assert [entry["job_id"] for entry in cli.json("jobs")] == [job.job_id]
    assert "completed" in cli("jobs")[1]

    status, out, _ = cli("doctor")
    assert status == 0 and "book small" in out

    status, out, _ = cli("ingest", book)
    assert status == 0 and "nothing changed in 4 files" in out


def test_a_book_without_an_address_is_told_once(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "guide"
    folder.mkdir()
    (folder / "page.md").write_text("# A page\n\nRobots have joints, and joints have limits.\n")
    status, _, said = cli("ingest", str(folder))
    assert status == 0 and "base_url" in said and "bythebook.toml" in said
    (folder / "page.md").write_text("# A page\n\nRobots have wheels, and wheels have tyres.\n")
    assert "base_url" not in cli("ingest", str(folder))[2]


def test_search_options_reach_the_search(cli: Cli, write_book: WriteBook) -> None:
    cli.json("ingest", str(write_book(small_book())))
    found = cli.json(
        "search", "robot", "--tier", "2", "--module", "ros", "--chapter-min", "2", "--level", "B1",
        "--level", "A1", "--layer", "L2", "--lesson", "1", "--prefix", "module-1",
    )  # fmt: skip
    assert {result["source_file"] for result in found["results"]} == {
        "module-1-ros/chapter-2/01-actions.md"
    }
    assert found["hardware_tier_filter"] == 2 and found["module_filter"] == "ros"
    status, out, _ = cli("search", "topics and messages", "--limit", "1", "--context", "1")
    assert status == 0 and "What a node is" in out and "Services of a node" in out


def test_a_result_is_placed_by_names(cli: Cli, write_book: WriteBook) -> None:
    manual = {"guides/pump.md": "# The pump\n\n## Priming\n\nFill the pump with water first."}
    cli.json("ingest", str(write_book(manual)))
    status, out, _ = cli("search", "fill the pump with water")
    assert status == 0 and "The pump › Priming" in out and "guides/pump.md" in out
    for word in ("chapter", "lesson", "module", "tier", "layer"):
        assert word not in out.lower(), word


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["ingest", "no-such-folder"], "E005", "no file or folder"),
        (["ingest", "EMPTY"], "E005", "no pages of a book"),
        (["ingest", "FILE"], "E005", "neither a folder"),
        (["ingest", "BOOK", "--mode", "sideways"], "E005", "incremental, full, recreate"),
        (["ingest", "BOOK", "--book", "../x"], "E005", "can't be a book's id"),
        (["search", ""], "E005", "TEXT"),
        (["search", "no"], "E005", "at least 3"),
        (["search", "robots", "--tier", "9"], "E005", "--tier"),
        (["search", "robots", "--limit", "0"], "E005", "--limit"),
        (["search", "robots", "--layer", "L7"], "E005", "--layer"),
        (["search", "robots", "--level", "Z1"], "E005", "--level"),
        (["search", "robots"], "E002", "ingest"),
        (["search", "robots", "--book", "nothing"], "E002", "nothing"),
        (["books", "--remove", "nothing"], "E002", "nothing"),
    ],
)
def test_bad_input_gets_a_sentence_and_a_status(
    cli: Cli, tmp_path: Path, write_book: WriteBook, arguments: list[str], code: str, says: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text("A file")
    places = {"EMPTY": tmp_path / "empty", "FILE": tmp_path / "file.txt"}
    if "BOOK" in arguments:
        places["BOOK"] = write_book(small_book())
    words = [str(places.get(word, word)) for word in arguments]
    status, out, err = cli(*words)
    assert status == 1 and out == ""
    assert err.startswith(f"Error {code}: ") and err.count("\n") == 1 and says in err
    status, out, _ = cli(*words, "--json")
    document = json.loads(out)
    assert status == 1 and document["error"] == code and document["suggested_action"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x89PNG\0\0", "is not a text file"),
        ("Größe".encode("latin-1"), "is not valid UTF-8"),
        (b"a" * 50_000_000, "more than the 5 MB allowed"),
    ],
)
def test_a_file_that_cant_be_read_is_told_and_the_rest_goes_in(
    cli: Cli, tmp_path: Path, write_book: WriteBook, content: bytes, says: str
) -> None:
    book = write_book(small_book())
    (book / "broken.md").write_bytes(content)
    status, out, err = cli("ingest", str(book))
    assert status == 1 and "4 of 5 files read" in out
    assert err.startswith("Warning: broken.md ") and err.count("\n") == 1 and says in err
    assert cli("search", "What is a node?")[0] == 0
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "broken.md").write_bytes(content)
    status, out, err = cli("ingest", str(alone))
    assert status == 1 and out == "" and err.startswith("Error E005: ") and says in err


def test_an_unknown_option_is_refused(cli: Cli) -> None:
    status, _, err = cli("search", "robots", "--colour", "red")
    assert status == 2 and "--colour" in err


def test_two_books_need_a_name(cli: Cli, write_book: WriteBook) -> None:
    book = str(write_book(small_book()))
    cli.json("ingest", book)
    cli.json("ingest", book, "--book", "copy")
    status, _, err = cli("search", "What is a node?")
    assert status == 1 and "copy, small" in err and "--book" in err
    assert cli.json("search", "What is a node?", "--book", "copy")["book_id"] == "copy"


def test_a_damaged_store_says_so_and_can_be_repaired(
    cli: Cli, home: Path, write_book: WriteBook
) -> None:
    book = str(write_book(small_book()))
    cli.json("ingest", book)
    for file in (home / "index").rglob("*"):
        if file.is_file() and "segment" in file.as_posix():
            file.write_bytes(b"\0garbage" * 20)
    status, _, err = cli("search", "What is a node?")
    assert status == 1 and err.startswith("Error E003: ") and "doctor" in err
    assert cli("doctor")[0] == 1
    cli("doctor", "--repair")
    assert cli("ingest", book, "--mode", "recreate")[0] == 0
    assert cli("search", "What is a node?")[0] == 0


def test_a_lost_index_is_noticed(cli: Cli, home: Path, write_book: WriteBook) -> None:
    book = str(write_book(small_book()))
    cli.json("ingest", book)
    shutil.rmtree(home / "index")
    status, _, err = cli("search", "What is a node?")
    assert status == 1 and err.startswith("Error E003: ") and "--mode full" in err
    assert cli("doctor")[0] == 1
    assert cli.json("ingest", book, "--mode", "full")["chunks_embedded"] == 8
    assert cli("search", "What is a node?")[0] == 0


def test_a_changed_embedder_is_refused_before_it_returns_garbage(
    cli: Cli, write_book: WriteBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = str(write_book(small_book()))
    cli.json("ingest", book)
    monkeypatch.setenv("BYTHEBOOK_EMBEDDER", "openai")
    status, _, err = cli("search", "What is a node?")
    assert status == 1 and "E001" in err
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-" + "x" * 40)
    for arguments in (["search", "What is a node?"], ["ingest", book]):
        status, _, err = cli(*arguments)
        assert status == 1 and err.startswith("Error E001: ") and "recreate" in err
    monkeypatch.setenv("BYTHEBOOK_EMBEDDER", "built-in")
    assert cli("search", "What is a node?")[0] == 0


def test_a_bad_setting_names_its_variable(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTHEBOOK_EMBEDDER", "magic")
    status, _, err = cli("books")
    assert status == 1 and err.startswith("Error E001: ") and "BYTHEBOOK_EMBEDDER" in err


def test_a_home_that_cant_be_made(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BYTHEBOOK_HOME", str(tmp_path / "file" / "home"))
    status, _, err = cli("books")
    assert status == 1 and "BYTHEBOOK_HOME" in err


def test_the_demo_needs_nothing(cli: Cli) -> None:
    status, out, _ = cli("demo")
    assert status == 0 and "physical-ai-robotics" in out
    answer, refusal = out.split("$ bythebook ask ")[1:]
    assert "use an action [1]" in answer and "services-and-actions" in answer
    assert REFUSAL in refusal and "Sources" not in refusal


@pytest.mark.parametrize(
    ("imported", "needed"), [("bythebook.cli.commands", ""), ("bythebook.library", "sqlalchemy")]
)
def test_start_up_loads_nothing_heavy(imported: str, needed: str) -> None:
    """Every command pays for what the command line imports, and nearly every one for what the
    library does."""
    heavy = (
        "onnxruntime tokenizers numpy sqlalchemy sqlalchemy.dialects.postgresql qdrant_client "
        "qdrant_edge alembic httpx rich agents openai yaml"
    )
    code = (
        f"import sys, {imported}\n"
        f"print(*(name for name in {heavy.split()!r} if name in sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == needed.split()
