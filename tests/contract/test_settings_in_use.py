"""Settings from the environment, as a command goes by them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from booktext import WriteBook, small_book
from cli.conftest import Cli
from standins.embedding_server import EmbeddingServer
from standins.llm_server import LlmServer, says
from standins.refusing_server import refusing

QUESTION = "What is a URDF?"


def test_the_language_model(
    cli: Cli, sample_home: Path, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.script(says("**URDF** is an XML format [1]."))
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    monkeypatch.setenv("OPENAI_MODEL", "some-model")
    monkeypatch.setenv("OPENAI_TEMPERATURE", "0.5")
    monkeypatch.setenv("OPENAI_MAX_TOKENS", "99")
    told = cli.json("ask", QUESTION)
    (request,) = llm.requests
    assert request.headers["authorization"] == "Bearer sesame"
    asked = request.body
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("some-model", 0.5, 99)
    assert told["model"] == "some-model" and told["tokens_used"] > 0


def test_a_dotenv_file(
    cli: Cli, sample_home: Path, llm: LlmServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    llm.script(says("**URDF** is an XML format [1]."))
    monkeypatch.chdir(tmp_path)
    text = f"OPENAI_BASE_URL={llm.base_url}\nOPENAI_API_KEY=sesame\nOPENAI_MODEL=some-model\n"
    (tmp_path / ".env").write_text(text, encoding="utf-8")
    assert cli.json("ask", QUESTION)["model"] == "some-model"
    (request,) = llm.requests
    assert request.headers["authorization"] == "Bearer sesame"


def test_a_model_that_nothing_was_said_of(
    cli: Cli, sample_home: Path, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.script(says("**URDF** is an XML format [1]."))
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base_url)
    cli.json("ask", QUESTION)
    asked = llm.bodies[0]
    assert (asked["model"], asked["temperature"]) == ("gpt-4o-mini", 0)
    assert asked.get("max_tokens") is None


def test_how_much_is_retrieved(
    cli: Cli, sample_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "talk.json"
    monkeypatch.setenv("AGENT_SCORE_THRESHOLD", "0")
    for given, number in ((None, 5), ("2", 2)):
        if given:
            monkeypatch.setenv("AGENT_TOP_K", given)
        assert cli("chat", "--export", str(file), typed=f"{QUESTION}\n")[0] == 0
        (call,) = json.loads(file.read_text(encoding="utf-8"))["retrieval_history"]
        assert call["results_count"] == number


def test_how_good_a_passage_must_be(
    cli: Cli, sample_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.json("ask", QUESTION)["refused"] is False
    monkeypatch.setenv("AGENT_SCORE_THRESHOLD", "1")
    assert cli.json("ask", QUESTION)["refused"] is True


def test_how_long_a_conversation_may_be(
    cli: Cli, sample_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_MAX_TURNS", "1")
    _, out, err = cli("chat", typed=f"{QUESTION}\n{QUESTION}\n")
    assert out.count("**Sources:**") == 1 and "turn" in out + err


def test_other_embedders(
    cli: Cli, write_book: WriteBook, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    book = str(write_book(small_book()))
    server = EmbeddingServer()
    server.start()
    monkeypatch.setenv("COHERE_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("BYTHEBOOK_ANSWERER", "built-in")
    try:
        for name, model, size in (
            ("cohere", "embed-english-v3.0", 1024),
            ("openai", "text-embedding-3-small", 1536),
        ):
            monkeypatch.setenv("BYTHEBOOK_HOME", str(tmp_path / name))
            monkeypatch.setenv("BYTHEBOOK_EMBEDDER", name)
            status, _, err = cli("ingest", book)
            assert status == 1 and f"{name.upper()}_API_KEY" in err
            monkeypatch.setenv(f"{name.upper()}_API_KEY", "right-key")
            server.requests.clear()
            assert cli.json("ingest", book)["chunks_embedded"] == 8
            assert {request.body["model"] for request in server.requests} == {model}
            assert {request.key for request in server.requests} == {"Bearer right-key"}
            (listed,) = cli.json("books")
            assert (listed["embedding_model"], listed["dimension"]) == (model, size)
        monkeypatch.setenv("BYTHEBOOK_EMBEDDER", "cohere")
        monkeypatch.setenv("COHERE_MODEL", "embed-of-nobody")
        status, _, err = cli("ingest", book, "--mode", "recreate")
        assert status == 1 and "embed-of-nobody" in err
    finally:
        server.stop()


def test_a_qdrant_server(cli: Cli, write_book: WriteBook, monkeypatch: pytest.MonkeyPatch) -> None:
    book = str(write_book(small_book()))
    with refusing(401) as (url, heard):
        monkeypatch.setenv("QDRANT_URL", url)
        monkeypatch.setenv("QDRANT_API_KEY", "sesame")
        monkeypatch.setenv("QDRANT_COLLECTION_NAME", "documentation")
        status, _, err = cli("ingest", book)
    assert status == 1 and "QDRANT_API_KEY" in err and "sesame" not in err
    assert {key for _, key in heard} == {"sesame"}
    assert any("documentation" in path for path, _ in heard)
