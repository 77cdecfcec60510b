"""`ask` and `chat` as a person and a script use them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from bythebook.models.chat_messages import ChatResponse
from bythebook.settings import REFUSAL
from bythebook.settings.chosen_model import ChosenModel, forget_choice, keep_choice
from cli.conftest import Cli
from standins.llm_server import LlmServer, Step, fails, hangs, says

QUESTION = "What is the difference between aborted and canceled?"
pytestmark = pytest.mark.usefixtures("with_reader", "sample_home")


def test_an_answer_with_its_sources(cli: Cli) -> None:
    status, out, err = cli("ask", QUESTION)
    text, _, footer = out.partition("\n---\n**Sources:**\n")
    assert status == 0 and err == ""
    assert "canceled** when the client asked it to stop [1]." in text
    first, place, *_ = footer.splitlines()
    assert first.startswith("[1] https://") and first.endswith(")") and "(score: " in first
    assert place.strip() == "Services and Actions › The life of a goal"
    assert "Confidence: " in out and "no language model" in out


def test_a_refusal_is_no_error(cli: Cli) -> None:
    status, out, err = cli("ask", "How do I bake sourdough bread?")
    assert status == 0 and err == "" and out.startswith(REFUSAL) and "Sources" not in out
    assert "sourdough" in out  # what was searched is named
    closest = out.partition("**Closest sections:**")[2].splitlines()
    assert 1 <= sum(line.startswith("- https://") for line in closest) <= 3


def test_json_is_the_response_of_the_api(cli: Cli) -> None:
    response = ChatResponse.model_validate(cli.json("ask", QUESTION))
    assert not response.refused and response.status == "success"
    (cited, *_) = response.citations
    assert cited.source_file_path.endswith("02-services-and-actions.md") and cited.quote
    assert f"[{cited.number}]" in response.response
    refused = ChatResponse.model_validate(cli.json("ask", "How do I bake sourdough bread?"))
    assert refused.refused and not refused.should_answer and refused.sources == []
    assert refused.nearest


def test_quoted_offsets_lead_into_the_file(cli: Cli) -> None:
    from bythebook.library import sample_book

    response = ChatResponse.model_validate(cli.json("ask", QUESTION))
    for cited in response.citations:
        source = (sample_book() / cited.source_file_path).read_text(encoding="utf-8")
        found = " ".join(source[start:end] for start, end in cited.source_spans)
        assert set(cited.quote.replace("…", "").split()) <= set(found.split())


def test_verbose_tells_on_stderr_what_happens(cli: Cli) -> None:
    status, out, err = cli("ask", QUESTION, "-v")
    assert status == 0 and "[DEBUG]" not in out
    for told in (
        "state processing",
        "tool search_textbook",
        "retrieved 5 passages",
        "done: success",
    ):
        assert told in err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["", "--json"], "QUESTION"),
        (["x" * 1001], "QUESTION"),
        ([QUESTION, "--top-k", "0"], "--top-k"),
        ([QUESTION, "--top-k", "11"], "--top-k"),
        ([QUESTION, "--threshold", "1.5"], "--threshold"),
        ([QUESTION, "--layer", "L9"], "--layer"),
        ([QUESTION, "--tier", "0"], "--tier"),
        ([QUESTION, "--chapter-min", "3", "--chapter-max", "1"], "chapter_min"),
        ([QUESTION, "--module", "cooking"], "cooking"),
    ],
)
def test_bad_input_is_named(cli: Cli, arguments: list[str], named: str) -> None:
    status, out, err = cli("ask", *arguments)
    assert status == 1 and named in out + err and "E005" in out + err


def test_filters_hold(cli: Cli) -> None:
    response = ChatResponse.model_validate(cli.json("ask", "What is Gazebo?", "--module", "gazebo"))
    assert response.citations
    assert all("module-2-gazebo" in cited.source_file_path for cited in response.citations)


def test_a_strict_threshold_refuses(cli: Cli) -> None:
    assert ChatResponse.model_validate(cli.json("ask", QUESTION, "--threshold", "1")).refused


def test_chat_remembers_and_forgets(cli: Cli) -> None:
    lines = ("What is a ROS 2 action?", "", "/sources", "/help", "and what is it made of?")
    typed = "\n".join([*lines, "/reset", "/sources", "quit", ""])
    status, out, err = cli("chat", typed=typed)
    assert status == 0 and err == ""
    turns = out.split("You: ")
    assert "Physical AI and Robotics" in turns[0]
    assert turns[1].startswith("Agent: ") and "[1]" in turns[1] and "**Sources:**" in turns[1]
    assert turns[2].startswith("Please provide a question.")
    assert "[1] Services and Actions" in turns[3] and "/reset" in turns[4]
    assert "goal" in turns[5] and "forgotten" in turns[6] and "no answer" in turns[7]
    assert turns[-1].endswith("Goodbye.\n")


@pytest.mark.parametrize("leaving", ["quit", "exit", "q", "QUIT", ""])
def test_ways_to_leave(cli: Cli, leaving: str) -> None:
    status, out, _ = cli("chat", typed=f"{leaving}\n" if leaving else "")
    assert status == 0 and out.rstrip().endswith("Goodbye.")


def test_an_error_does_not_end_a_chat(
    cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "stand-in")
    monkeypatch.setenv("MODEL_RETRIES", "0")
    monkeypatch.setenv("BYTHEBOOK_MODEL_DOWN", "error")
    answer = "A service is a request-and-reply connection [1]."
    llm.script(fails(500), says(answer))
    status, out, err = cli("chat", typed="What is a service?\nWhat is a service?\n")
    assert status == 0 and "Error E004: " in err and answer in out


@pytest.mark.parametrize(
    ("step", "told", "advice"),
    [
        (fails(401), "refused the key", "Check OPENAI_API_KEY"),
        (fails(404), "has no model 'gpt-4o-mini'", "Check OPENAI_MODEL"),
        (fails(500), "HTTP 500", "Ask again later"),
        (hangs(30), "did not begin to answer within 0.5 seconds", "MODEL_FIRST_TOKEN_TIMEOUT"),
    ],
)
def test_a_model_that_is_down_is_told_and_the_book_quoted(
    cli: Cli, llm: LlmServer, monkeypatch: pytest.MonkeyPatch, step: Step, told: str, advice: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base_url)
    monkeypatch.setenv("MODEL_RETRIES", "0")
    monkeypatch.setenv("MODEL_FIRST_TOKEN_TIMEOUT", "0.5")
    llm.always(step)
    status, out, err = cli("ask", QUESTION)
    assert status == 0 and "[1]" in out and told in out and "quoted instead" in out
    assert told in err and advice in err and "Traceback" not in err
    assert len(llm.requests) == 1
    monkeypatch.setenv("BYTHEBOOK_MODEL_DOWN", "error")
    status, out, err = cli("ask", QUESTION)
    assert status == 1 and err.startswith("Error E004: ") and told in err and advice in err


@pytest.mark.parametrize(
    ("step", "advice"),
    [
        (None, "Check the address chosen on the page /admin"),
        (fails(401), "Check the key given on the page /admin"),
        (fails(404), "Check the model chosen on the page /admin"),
    ],
)
def test_a_model_chosen_on_the_page_is_looked_after_there(
    cli: Cli,
    sample_home: Path,
    llm: LlmServer,
    monkeypatch: pytest.MonkeyPatch,
    step: Step | None,
    advice: str,
) -> None:
    if step:
        llm.always(step)
    keep_choice(sample_home, ChosenModel(llm.base_url if step else "http://127.0.0.1:9/v1", "m"))
    try:
        monkeypatch.setenv("MODEL_RETRIES", "0")
        status, out, err = cli("ask", QUESTION)
        said = " ".join(err.split())
        assert status == 0 and "quoted instead" in out
        assert advice in said and "OPENAI_" not in said
        # Variables win over the choice, and so it is they that are named.
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        said = " ".join(cli("ask", QUESTION)[2].split())
        assert "Check OPENAI_BASE_URL (http://127.0.0.1:9/v1)" in said and "/admin" not in said
    finally:
        forget_choice(sample_home)


def test_a_terminal_shows_that_something_goes_on(sample_home: Path, llm: LlmServer) -> None:
    """Between the search and the first words, which a slow model takes a while for."""
    llm.script(hangs(2.5, says("A service is a request-and-reply connection [1].")))
    terminal, end = pty.openpty()
    environment = {**os.environ, "OPENAI_BASE_URL": llm.base_url}
    command = [sys.executable, "-m", "bythebook", "ask", "What is a service in ROS 2?"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=end) as asking:
        os.close(end)
        shown = b"".join(iter(lambda: _read(terminal), b"")).decode()
        assert asking.stdout is not None
        answer = asking.stdout.read().decode()
    os.close(terminal)
    assert answer.startswith("A service is a request-and-reply connection [1].")
    assert "Reading the question …" in shown and "Reading 5 passages … 1 s" in shown
    assert shown.endswith("\r")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # nobody writes any more
        return b""


def test_no_book_yet(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTHEBOOK_HOME", str(tmp_path / "empty"))
    for command in (["ask", QUESTION], ["chat"]):
        status, _, err = cli(*command)
        assert status == 1 and "E002" in err and "ingest" in err


def test_doctor_shows_the_whole_workflow(cli: Cli) -> None:
    status, out, _ = cli("doctor")
    assert status == 0, out
    for step in ("query", "tool call", "context", "cited answer", "refusal"):
        assert f"workflow: {step}" in out
