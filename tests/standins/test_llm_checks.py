"""What the scripted language model refuses, as a strict service would."""

from __future__ import annotations

import pytest

from standins.llm_checks import Json, Refused, check_request

ASKED: list[Json] = [{"role": "user", "content": "What is Gazebo?"}]
TOOLS: list[Json] = [
    {
        "type": "function",
        "function": {
            "name": "search_textbook",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
        },
    }
]


def call_message(*ids: str, arguments: str = "{}") -> Json:
    calls = [
        {"id": one, "type": "function", "function": {"name": "f", "arguments": arguments}}
        for one in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result_message(of: str) -> Json:
    return {"role": "tool", "tool_call_id": of, "content": "{}"}


SYSTEM: Json = {"role": "system", "content": "Be brief."}
NAMED: Json = {"type": "function", "function": {"name": "other"}}

WRONG: list[tuple[Json, str]] = [
    ({"messages": []}, "'messages' is empty"),
    ({"messages": [{"role": "robot", "content": "x"}]}, "no role"),
    ({"messages": [*ASKED, SYSTEM]}, "may only be the first"),
    ({"messages": [*ASKED, result_message("a")]}, "must be a response"),
    ({"messages": [*ASKED, call_message("a"), result_message("b")]}, "must be a response"),
    ({"messages": [*ASKED, call_message("a"), *ASKED]}, "without an answer: a"),
    ({"messages": [*ASKED, call_message("a", "b"), result_message("a")]}, "without an answer: b"),
    ({"messages": [*ASKED, call_message("a", "a")]}, "two tool calls"),
    ({"messages": [*ASKED, call_message()]}, "'content' is missing"),
    ({"messages": [{"role": "user", "content": None}]}, "'content' is missing"),
    ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "no text"),
    ({"model": ""}, "'model'"),
    ({"temperature": 3}, "temperature"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"tools": None, "tool_choice": "required"}, "only with 'tools'"),
    ({"tools": None, "parallel_tool_calls": False}, "only with 'tools'"),
    ({"tools": []}, "'tools' is empty"),
    ({"tools": [*TOOLS, *TOOLS]}, "two tools"),
    ({"tools": [{"type": "function", "function": {"name": "two words"}}]}, "can't be a tool's"),
    ({"tool_choice": NAMED}, "'other'"),
    ({"tool_choice": "search_textbook"}, "no tool of the request"),
]


@pytest.mark.parametrize(("change", "said"), WRONG)
def test_wrong_requests_are_refused(change: Json, said: str) -> None:
    with pytest.raises(Refused, match=said):
        check_request({"model": "m", "messages": ASKED, "tools": TOOLS} | change)


def test_a_long_conversation_is_right() -> None:
    history = [SYSTEM, *ASKED, call_message("a", "b"), result_message("b"), result_message("a")]
    history += [{"role": "assistant", "content": "x"}, *ASKED, call_message("a", arguments="{")]
    history += [result_message("a")]
    check_request({"model": "m", "messages": history, "tools": TOOLS, "tool_choice": "auto"})
    with pytest.raises(Refused, match="not JSON"):
        check_request({"model": "m", "messages": history, "tools": TOOLS}, parses_arguments=True)
