"""What the language model is given fits into what it can take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.conftest import Assistants, assistant_of
from agent.listening import answer_in, listen
from booktext import WriteBook
from bythebook.agent.prompt_budget import count_tokens
from bythebook.models.conversation import Conversation, Turn
from standins.llm_server import LlmServer, calls_tool, passages, says

QUESTION = "What is a service in ROS 2?"
TRUE = "A service is a request-and-reply connection [1]."
SMALL = 2200


def size(body: dict[str, Any]) -> int:
    """All that a model reads."""
    texts = [json.dumps(body["tools"])]
    for message in body["messages"]:
        calls = [call["function"] for call in message.get("tool_calls") or []]
        texts += [message["content"] or "", *(f"{one['name']} {one['arguments']}" for one in calls)]
    return sum(map(count_tokens, texts))


async def test_all_is_given_whole_where_there_is_room(with_llm: Assistants, llm: LlmServer) -> None:
    llm.script(says(TRUE))
    async with with_llm(context_tokens=32_000) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    given = [each["chunk_text"] for each in passages(llm.bodies[0])]
    assert given == [passage.text for passage in answer.passages]


@pytest.mark.parametrize("context", [SMALL, 3000, 4096])
@pytest.mark.parametrize("longest", [None, 300])
@pytest.mark.usefixtures("with_reader")
async def test_what_is_given_leaves_room_for_the_answer(
    with_llm: Assistants, llm: LlmServer, context: int, longest: int | None
) -> None:
    conversation = Conversation()
    for number in range(10):
        told = f"Answer {number}: " + "A node publishes messages on a topic. " * 12
        conversation.add(Turn(f"What about node {number}?", told, ("Topics",)))
    llm.script(says(TRUE))
    how = {"context_tokens": context, "openai_max_tokens": longest}
    async with with_llm(**how) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION, conversation)))
    (body,) = llm.bodies
    assert size(body) <= context - (longest or 800)
    # The best passages come first, each as the book has it but for what is left out.
    given = passages(body)
    assert given and [each["cite"] for each in given] == list(range(1, len(given) + 1))
    for each, passage in zip(given, answer.passages, strict=False):
        for part in each["chunk_text"].split("…"):
            assert part.strip() in passage.text
    assert "request-and-reply connection" in given[0]["chunk_text"].replace("*", "")
    # Of the conversation the last turns, each with its answer.
    asked = [one["content"] for one in body["messages"] if one["role"] == "user"]
    kept = len(asked) - 1
    assert 1 <= kept < 10 and asked[-2] == "What about node 9?"
    assert asked[:-1] == [f"What about node {number}?" for number in range(10 - kept, 10)]
    assert answer.text == TRUE


CODE = "```sh\n" + "".join(f"rover --charge --step {n}\n" for n in range(12)) + "```"
TABLE = "| mode | hours |\n|---|---|\n" + "".join(f"| mode {n} | {n} |\n" for n in range(30))


@pytest.mark.usefixtures("with_reader")
async def test_code_and_rows_are_never_cut_through(
    home: Path, write_book: WriteBook, llm: LlmServer
) -> None:
    fact = "The battery of the rover lasts four hours on a full charge."
    padding = " ".join(f"Remark {n} says nothing about it." for n in range(15))
    parts = ["# Battery", "## Battery life", padding, fact, CODE, TABLE, padding]
    other = "# Wheels\n\n## Wheels\n\n" + "The battery of the rover drives six wheels. " * 30
    llm.script(says(f"{fact} [1]"))
    how = {"openai_base_url": llm.base_url, "context_tokens": 1800, "openai_max_tokens": 500}
    async with assistant_of(home, **how) as assistant:
        book = {"bythebook.toml": '[book]\nid = "r"\n', "01.md": "\n\n".join(parts), "02.md": other}
        await assistant.library.ingest(write_book(book))
        asked = "How long does the battery of the rover last?"
        answer = answer_in(await listen(assistant.stream(asked)))
    first = passages(llm.bodies[0])[0]["chunk_text"]
    assert fact in first and "…" in first and size(llm.bodies[0]) <= 1800 - 500
    assert first.count("```") in (0, 2) and (CODE in first or "rover --charge" not in first)
    rows = [line for line in first.splitlines() if line.startswith("|")]
    assert all(line in TABLE.splitlines() for line in rows)
    assert fact[:-1] in answer.text


async def test_what_is_not_given_can_still_be_cited(with_llm: Assistants, llm: LlmServer) -> None:
    """A sentence is checked against all that was found."""
    llm.script(says(TRUE))
    async with with_llm(context_tokens=1024) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert len(passages(llm.bodies[0])) == 1 < len(answer.passages)


async def test_a_second_search_is_given_beside_the_first(
    with_llm: Assistants, llm: LlmServer
) -> None:
    llm.script(calls_tool("quality of service profiles"), says(TRUE))
    async with with_llm(context_tokens=3000) as assistant:
        await listen(assistant.stream(QUESTION))
    found = [json.loads(m["content"]) for m in llm.bodies[1]["messages"] if m["role"] == "tool"]
    numbers = [[each["cite"] for each in result["results"]] for result in found]
    assert all(numbers) and not set(numbers[0]) & set(numbers[1])
    assert size(llm.bodies[1]) <= 3000 - 800
