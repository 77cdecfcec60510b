"""What is sent and read without the official client's own ways is what it would send and read."""

from __future__ import annotations

import json

from agent.conftest import Assistants
from agent.listening import answer_in, listen
from standins.llm_server import LlmServer, calls_tool, malformed, says

QUESTION = "What is a service in ROS 2?"
TRUE = "A service is a request-and-reply connection [1]."


async def test_a_stream_is_asked_for_like_a_whole_reply(
    with_llm: Assistants, llm: LlmServer
) -> None:
    for streamed in (True, False):
        llm.script(calls_tool("service in ROS 2"), says(TRUE))
        async with with_llm(openai_stream=streamed, openai_max_tokens=500) as assistant:
            await listen(assistant.stream(QUESTION))
    pieces, whole = llm.bodies[:2], llm.bodies[2:]
    for body in pieces:
        assert body.pop("stream") and body.pop("stream_options") == {"include_usage": True}
    assert pieces == whole and pieces[0]["max_tokens"] == 500


async def test_a_service_may_leave_out_and_add_fields(with_llm: Assistants, llm: LlmServer) -> None:
    bare = {"choices": [{"index": 0, "delta": {"content": " connection [1]."}, "odd": 1}]}
    llm.script(malformed(json.dumps(bare), before=TRUE[:-16]))
    async with with_llm() as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert answer.text == TRUE
