"""The agent's configuration, as commands and the service read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bythebook import AgentConfig, Assistant, Library, Settings
from bythebook.errors import ConfigurationError
from cli.conftest import Cli
from server.running import running
from standins.llm_server import LlmServer, says

KEY = "sk-" + "a" * 37
OPENAI = "https://api.openai.com/v1"
ANSWER = "A node is a process that performs computation. [1]"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"OPENAI_API_KEY": "sk-short"}, "OPENAI_API_KEY"),
        ({"OPENAI_API_KEY": KEY[:-1]}, "OPENAI_API_KEY"),
        ({"OPENAI_API_KEY": "pk-" + "a" * 60}, "OPENAI_API_KEY"),
        ({"BYTHEBOOK_ANSWERER": "openai"}, "OPENAI_API_KEY"),
        ({"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": OPENAI}, "OPENAI_API_KEY"),
        ({"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": "https://eu.api.openai.com/v1"}, "OPENAI_A"),
        (
            {
                "OPENAI_API_KEY": "x",
                "BYTHEBOOK_ANSWERER": "built-in",
                "BYTHEBOOK_EMBEDDER": "openai",
            },
            "OPENAI_API_KEY",
        ),
        ({"AGENT_TOOL_NAME": "class"}, "AGENT_TOOL_NAME"),
        ({"AGENT_TOOL_NAME": "two words"}, "AGENT_TOOL_NAME"),
        ({"AGENT_TOOL_NAME": "with-dash"}, "AGENT_TOOL_NAME"),
        ({"AGENT_TOOL_NAME": "1st"}, "AGENT_TOOL_NAME"),
        ({"AGENT_TOOL_NAME": "größe"}, "AGENT_TOOL_NAME"),
        ({"AGENT_TOOL_NAME": "a" * 65}, "AGENT_TOOL_NAME"),
        ({"OPENAI_MODEL": "two words"}, "OPENAI_MODEL"),
        ({"OPENAI_TEMPERATURE": "1.1"}, "OPENAI_TEMPERATURE"),
        ({"OPENAI_TEMPERATURE": "-0.1"}, "OPENAI_TEMPERATURE"),
        ({"AGENT_TOP_K": "0"}, "AGENT_TOP_K"),
        ({"AGENT_TOP_K": "11"}, "AGENT_TOP_K"),
        ({"AGENT_SCORE_THRESHOLD": "1.1"}, "AGENT_SCORE_THRESHOLD"),
        ({"AGENT_MAX_TURNS": "0"}, "AGENT_MAX_TURNS"),
        ({"AGENT_HISTORY_TURNS": "21"}, "AGENT_HISTORY_TURNS"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "ask"])
def test_what_cannot_be_is_refused_at_start(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str, given: dict[str, str], named: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    status, out, err = cli(*{"serve": ["serve", "--port", "0"], "ask": ["ask", "What?"]}[command])
    assert (status, out) == (1, "")
    assert err.startswith("Error E001: ") and named in err
    assert not any(value in err for value in given.values() if len(value) > 20 and "sk-" in value)
    with pytest.raises(ConfigurationError, match=named):
        # What only an embedder needs is no matter of the agent.
        (Settings if "BYTHEBOOK_EMBEDDER" in given else AgentConfig).from_env()


@pytest.mark.parametrize(
    "given",
    [
        {"OPENAI_API_KEY": KEY},
        {"OPENAI_API_KEY": "local", "OPENAI_BASE_URL": "http://localhost:8080/v1"},
        {"OPENAI_API_KEY": "local", "OPENAI_BASE_URL": "https://notapi.openai.com.example/v1"},
        {"OPENAI_BASE_URL": "http://localhost:8080/v1"},
        {"OPENAI_API_KEY": "of something else", "BYTHEBOOK_ANSWERER": "built-in"},
        {"AGENT_TOOL_NAME": "a" * 64},
        {"AGENT_TOP_K": "10", "AGENT_SCORE_THRESHOLD": "0", "AGENT_MAX_TURNS": "1"},
        {"OPENAI_TEMPERATURE": "1"},
        {"OPENAI_MODEL": "qwen/qwen2.5-coder:1.5b"},
    ],
)
def test_what_can_be_is_taken(monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert AgentConfig.from_env().model_dump().items() <= Settings.from_env().model_dump().items()


def test_defaults() -> None:
    made = AgentConfig.from_env()
    assert (made.openai_model, made.temperature, made.openai_max_tokens) == ("gpt-4o-mini", 0, None)
    assert (made.top_k, made.score_threshold, made.max_conversation_turns) == (5, 0.7, 50)


def test_a_key_is_never_shown() -> None:
    made = AgentConfig(openai_api_key=KEY)  # type: ignore[arg-type]
    assert KEY not in repr(made) and KEY not in made.model_dump_json()
    with pytest.raises(ValidationError) as caught:
        AgentConfig(openai_api_key="s3cret")  # type: ignore[arg-type]
    assert "s3cret" not in str(caught.value)


async def test_the_service_goes_by_it(sample_home: Path, llm: LlmServer) -> None:
    llm.script(says(ANSWER))
    chosen: dict[str, Any] = {
        "openai_base_url": llm.base_url,
        "openai_model": "stand-in",
        "temperature": 0.3,
        "openai_max_tokens": 321,
        "tool_name": "search_book_content",
        "history_turns": 20,
    }
    async with running(sample_home, **chosen) as up:
        await up.ask("What is a node?")
    asked = llm.bodies[0]
    assert asked["model"] == "stand-in"
    assert (asked["temperature"], asked["max_tokens"]) == (0.3, 321)
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["search_book_content"]


async def test_an_assistant_can_be_given_another(sample_home: Path) -> None:
    config = AgentConfig(refusal="Not in this book.", max_conversation_turns=2)
    async with (
        await Library.open(Settings(home=sample_home)) as library,
        Assistant(library, config) as assistant,
    ):
        answer = await assistant.ask("How do I bake sourdough bread?")
    assert answer.refused and answer.text.startswith("Not in this book.")
