"""`doctor` on the configured language model: a real question over real HTTP, one line a finding."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from typing import Any

import pytest

from cli.conftest import Cli
from standins.llm_server import (
    Json,
    LlmServer,
    Step,
    calls_tool,
    fails,
    hangs,
    passages,
    running_llm,
    says,
    searches_then,
    tool_results,
    trickles,
)

pytestmark = pytest.mark.usefixtures("with_reader", "sample_home")

INVENTED = "Penguins have won every sailing race since 1987 [1]."


def quoted(found: list[Json]) -> str:
    """A whole sentence of a passage, so that it surely holds."""
    for passage in found:
        for line in passage["chunk_text"].split("\n"):
            sentence = line.split(". ")[0].rstrip(".")
            if line.endswith(".") and len(sentence.split()) >= 8:
                return f"{sentence} [{passage['cite']}]."
    raise ValueError("no passage has a sentence")


def slowly(found: list[Json]) -> Step:
    return trickles(quoted(found), 0.02, split=8)


def without_tools(request: Json) -> Step:
    found = passages(request)
    return trickles(quoted(found), 0.02, split=8) if found else says("I would rather not search.")


def doctor(
    cli: Cli, server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, dict[str, Any]]:
    """The exit status and what was found of the model, by name."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "stand-in")
    status, out, err = cli("doctor", "--json")
    assert "Traceback" not in err
    found = {check["name"]: check for check in json.loads(out)}
    return status, {
        name.removeprefix("model: "): check
        for name, check in found.items()
        if name.startswith("model: ")
    }


def test_a_good_model(cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    llm.always(searches_then(slowly))
    status, found = doctor(cli, llm, monkeypatch)
    assert status == 0
    assert list(found) == ["reachable", "tool calls", "streaming", "speed", "sentences"]
    assert [check["action"] for check in found.values()] == [""] * 5
    assert found["tool calls"]["figures"] == {"called": True, "usable": True}
    assert found["streaming"]["figures"]["streamed"]
    speed = found["speed"]["figures"]
    assert 0 < speed["seconds_to_first_words"] <= speed["seconds"] and speed["words_a_second"] > 0
    assert speed["tokens"] > 0
    verified = found["sentences"]["figures"]
    assert (verified["held"], verified["written"], verified["share"]) == (1, 1, 1.0)
    assert verified["calls"] == len(llm.requests) <= 3


def test_what_a_person_reads(cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "stand-in")
    llm.always(without_tools)
    status, out, _ = cli("doctor")
    assert status == 0, out
    assert "note    model: tool calls: it did not call search_textbook" in out
    assert "words a second" in out and "1 of 1 passed the check" in out


def test_one_that_never_calls_tools(
    cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.always(without_tools)
    status, found = doctor(cli, llm, monkeypatch)
    assert status == 0
    assert found["tool calls"]["figures"] == {"called": False, "usable": False}
    assert found["tool calls"]["action"]
    assert found["sentences"]["figures"]["held"] == 1


def test_a_call_that_can_not_be_searched_with(
    cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose(request: Json) -> Step:
        return slowly(passages(request)) if tool_results(request) else calls_tool("What is a node?")

    llm.script(calls_tool(arguments={"text": "What is a node?"}))
    llm.always(choose)
    _, found = doctor(cli, llm, monkeypatch)
    assert found["tool calls"]["figures"] == {"called": True, "usable": False}
    assert found["tool calls"]["action"]


def test_one_that_answers_all_at_once(
    cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.always(searches_then(lambda found: replace(says(quoted(found), split=10_000), wait=0.1)))
    status, found = doctor(cli, llm, monkeypatch)
    assert status == 0
    assert found["streaming"]["figures"] == {"streamed": False, "moments": 1}
    assert "at once" in found["streaming"]["message"] and found["streaming"]["action"]


def test_too_few_words_to_tell(cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    llm.always(searches_then(lambda _: "Nodes [1]."))
    _, found = doctor(cli, llm, monkeypatch)
    assert found["streaming"]["figures"]["streamed"] is None and not found["streaming"]["action"]


def test_streaming_that_is_off(cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_STREAM", "false")
    llm.always(searches_then(quoted))
    status, found = doctor(cli, llm, monkeypatch)
    assert status == 0 and "OPENAI_STREAM" in found["streaming"]["message"]
    assert not found["streaming"]["action"]


def test_sentences_that_do_not_hold(
    cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYTHEBOOK_REPAIR", "true")  # as for everybody: it is not mended here
    llm.always(searches_then(lambda found: says(f"{quoted(found)} {INVENTED}")))
    _, found = doctor(cli, llm, monkeypatch)
    verified = found["sentences"]["figures"]
    assert (verified["held"], verified["written"], verified["share"]) == (1, 2, 0.5)
    assert "larger model" in found["sentences"]["action"]


def test_one_that_refuses(cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    llm.always(searches_then(lambda _: "I don't have information about that in the book content"))
    status, found = doctor(cli, llm, monkeypatch)
    assert status == 0
    assert found["sentences"]["figures"]["share"] is None and found["sentences"]["action"]


def test_one_that_never_stops_searching(
    cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.always(calls_tool("What is a node?"))
    _, found = doctor(cli, llm, monkeypatch)
    assert found["sentences"]["figures"]["calls"] == len(llm.requests) <= 4


def test_a_wrong_key(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    with running_llm(key="sk-right") as server:
        status, found = doctor(cli, server, monkeypatch)
        assert len(server.requests) == 1
    assert status == 1 and list(found) == ["reachable"]
    assert "key" in found["reachable"]["message"]
    assert "OPENAI_API_KEY" in found["reachable"]["action"]


def test_no_such_model(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_llm(always=fails(404), model="another") as server:
        status, found = doctor(cli, server, monkeypatch)
    assert status == 1 and list(found) == ["reachable"]
    assert "'stand-in'" in found["reachable"]["message"]
    assert "another" in found["reachable"]["action"]


def test_a_refused_request_in_the_servers_words(
    cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.dumps({"error": {"message": "stand-in does not support tools [red]", "code": None}})
    llm.always(fails(400, body=body))
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "stand-in")
    status, out, _ = cli("doctor")
    assert status == 1 and "It said: stand-in does not support tools [red]" in " ".join(out.split())


def test_a_refused_address(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        status, out, _ = cli("doctor")
    assert status == 1
    assert "failed  model: reachable: The language model" in out
    assert "refuse" in out and "OPENAI_BASE_URL" in out and address in out.replace("\n", "")


def test_an_address_that_is_none(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost")
    status, out, _ = cli("doctor")
    assert status == 1 and "failed  model: reachable: OPENAI_BASE_URL is not a web address." in out


def test_one_that_never_answers(cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPLETION_TIMEOUT", "0.5")
    llm.always(hangs(3600))
    status, found = doctor(cli, llm, monkeypatch)
    assert status == 1 and list(found) == ["reachable"]
    assert "0.5 seconds" in found["reachable"]["message"] and found["reachable"]["action"]
    assert len(llm.requests) == 1


def test_one_that_is_too_slow_for_an_answer(
    cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURN_TIMEOUT", "0.5")
    llm.script(calls_tool("What is a node?"))
    llm.always(hangs(3600))
    status, found = doctor(cli, llm, monkeypatch)
    assert status == 1 and found["reachable"]["ok"] and not found["speed"]["ok"]
    assert "0.5 seconds" in found["speed"]["message"] and found["speed"]["action"]
    assert not found["sentences"]["ok"]


def test_a_failing_model_is_not_quoted_around(
    cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYTHEBOOK_MODEL_DOWN", "built-in")
    llm.script(calls_tool("What is a node?"))
    llm.always(fails(500))
    status, found = doctor(cli, llm, monkeypatch)
    assert status == 1 and not found["speed"]["ok"] and "500" in found["speed"]["message"]


def test_without_a_book_a_page_of_ours_is_asked(
    cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("BYTHEBOOK_HOME", str(tmp_path / "empty"))
    llm.always(searches_then(slowly))
    status, found = doctor(cli, llm, monkeypatch)
    assert status == 0 and found["sentences"]["figures"]["held"] == 1
    assert cli.json("books") == []


def test_without_a_model(cli: Cli) -> None:
    status, out, _ = cli("doctor")
    assert status == 0 and "answerer: built-in" in out and "docs/models.md" in out
    assert "model: reachable" not in out
