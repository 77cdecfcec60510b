"""Every kind of failure has its code, a sentence and something to do, and ends a command with 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from booktext import WriteBook, small_book
from cli.conftest import Cli
from server.running import running
from standins.embedding_server import EmbeddingServer, Step
from standins.llm_server import LlmServer, fails
from standins.refusing_server import refusing

QUESTION = "What is a URDF?"


def check(cli: Cli, code: str, *arguments: str) -> None:
    status, out, err = cli(*arguments)
    assert (status, out) == (1, "") and err.startswith(f"Error {code}: "), (out, err)
    status, out, _ = cli(*arguments, "--json")
    told = json.loads(out)
    assert (status, told["error"]) == (1, code) and told["message"] and told["suggested_action"]


def test_e001_configuration(cli: Cli, sample_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TOP_K", "0")
    check(cli, "E001", "ask", QUESTION)


def test_e002_not_found(cli: Cli, sample_home: Path) -> None:
    check(cli, "E002", "ask", QUESTION, "--book", "nothing")


def test_e003_store(cli: Cli, sample_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing(400) as (url, _):
        monkeypatch.setenv("QDRANT_URL", url)
        check(cli, "E003", "ask", QUESTION)


async def test_a_store_that_fails_is_503(sample_home: Path, own_database: str) -> None:
    with refusing(400) as (url, _):
        async with running(sample_home, qdrant_url=url, database_url=own_database) as up:
            run = await up.ask(QUESTION)
            *_, (last, told) = await up.events(QUESTION)
    assert (run.status_code, run.json()["error"]) == (503, "E003")
    assert (last, told["error"]) == ("error", "E003")


def test_e004_language_model(
    cli: Cli, sample_home: Path, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.always(fails(401))
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base_url)
    monkeypatch.setenv("BYTHEBOOK_MODEL_DOWN", "error")
    check(cli, "E004", "ask", QUESTION)


def test_e005_input(cli: Cli, sample_home: Path) -> None:
    check(cli, "E005", "ask", "x" * 2001)


def test_e006_embedding(cli: Cli, write_book: WriteBook, monkeypatch: pytest.MonkeyPatch) -> None:
    server = EmbeddingServer()
    server.script(*[Step(status=422)] * 20)
    server.start()
    monkeypatch.setenv("BYTHEBOOK_EMBEDDER", "cohere")
    monkeypatch.setenv("COHERE_BASE_URL", server.url)
    monkeypatch.setenv("COHERE_API_KEY", "right-key")
    try:
        check(cli, "E006", "ingest", str(write_book(small_book())))
    finally:
        server.stop()
