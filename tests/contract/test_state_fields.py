"""A conversation as it is exported and told: every field of it, from the first moment on."""

from __future__ import annotations

import json
from pathlib import Path

from cli.conftest import Cli
from contract.shapes import misfits
from server.running import Running

QUESTION = "What is a URDF?"
STATE = {
    "session_id": "uuid",
    "messages": "some",
    "retrieval_history": "list",
    "started_at": "moment",
    "turn_count": "whole",
    "model": "text",
}
MESSAGE = {"role": "text", "content": "text", "timestamp": "moment"}
CALL = {
    "tool_name": "text",
    "query": "text",
    "results_count": "whole",
    "avg_similarity": "share",
    "timestamp": "moment",
}


async def test_every_field_of_a_session(up: Running) -> None:
    session = (await up.ask(QUESTION)).json()["session_id"]
    await up.ask("hello", session_id=session)
    state = (await up.http.get(f"/session/{session}")).json()
    assert misfits(state, STATE) == []
    assert all(misfits(message, MESSAGE) == [] for message in state["messages"])
    assert {message["role"] for message in state["messages"]} == {"system", "user", "assistant"}
    # The greeting needed no search.
    (call,) = state["retrieval_history"]
    assert misfits(call, CALL) == [] and call["query"] == QUESTION
    assert state["turn_count"] == 2


def test_a_conversation_begins_with_its_rules(cli: Cli, sample_home: Path, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    assert cli("chat", "--export", str(file), typed="quit\n")[0] == 0
    state = json.loads(file.read_text(encoding="utf-8"))
    assert [message["role"] for message in state["messages"]] == ["system"]
    assert (state["turn_count"], state["retrieval_history"]) == (0, [])
