"""Examples for the documentation of the API, from the sample book. `examples.json` has each piece
once; what holds others is put together here."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

Json = dict[str, Any]

PIECES: Json = json.loads(
    (resources.files("bythebook.models") / "examples.json").read_text("utf-8")
)
_CITATION, _CALL, _PASSAGE = PIECES["citation"], PIECES["tool_call"], PIECES["passage"]
_QUESTION, _ANSWER = PIECES["history"]["messages"]

CHAT: Json = {**PIECES["chat"], "citations": [_CITATION]}
AGENT: Json = {**PIECES["agent"], "citations": [_CITATION], "tool_calls": [_CALL]}
HISTORY: Json = {
    **PIECES["history"],
    "messages": [_QUESTION, {**_ANSWER, "citations": [_CITATION], "tool_calls": [_CALL]}],
}
STATE: Json = {**PIECES["state"], "retrieval_history": [_CALL]}
SEARCH: Json = {**PIECES["search"], "results": [{**_PASSAGE, **PIECES["search"]["results"][0]}]}
CONTEXT: Json = {
    **PIECES["context"],
    "passages": [{**_PASSAGE, **PIECES["context"]["passages"][0]}],
}
WHOLE_LESSON: Json = {**PIECES["lesson"], "passages": [_PASSAGE]}


def example(name: str) -> Json:
    """A piece as the schema of a model takes it."""
    return {"example": PIECES[name]}


def answers(shown: Json, description: str, **other_kinds: Json) -> dict[int | str, Json]:
    """A route's result for its documentation."""
    return {
        200: {
            "description": description,
            "content": {"application/json": {"example": shown}, **other_kinds},
        }
    }
