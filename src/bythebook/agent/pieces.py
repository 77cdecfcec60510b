"""A streamed reply in fewer and larger pieces.

A model sends a word at a time, and each costs the SDK as much as a whole sentence. A reader is
shown whole sentences, so words wait for each other while none of them can end one, and what a
model thinks to itself waits for the end of the thought.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

TEXTS = {"content", "reasoning_content", "reasoning"}
# Nothing that ends a sentence, and nothing that may open the next one.
INSIDE_A_SENTENCE = re.compile(r"(?:[^\W_]|[ ,;)-])*")


async def together(pieces: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """What only goes on with the text before is put to it, not passed on by itself."""
    held: Any = None
    held_field: str | None = None
    # Whether a sentence may have ended with what was passed on: what comes next tells.
    may_have_ended = True
    async for piece in pieces:
        field = only_text(piece)
        if held is not None and field == held_field:
            _delta(held)[field] += _delta(piece)[field]
            piece = held
        elif held is not None:
            yield held
        held = None
        if field is None:
            may_have_ended = True
            yield piece
            continue
        words = _delta(piece)[field]
        inside = bool(INSIDE_A_SENTENCE.fullmatch(words))
        if field != "content" or (inside and not may_have_ended):
            held, held_field = piece, field
        else:
            may_have_ended = not inside or (may_have_ended and words.isspace())
            yield piece
    if held is not None:
        yield held


def only_text(piece: Any) -> str | None:
    """The field with its words, if the piece says nothing else."""
    match piece:
        case {"choices": [{"index": 0, "delta": {**delta}, **choice}], **rest}:
            said = [name for name, value in delta.items() if value and name != "role"]
            alone = len(said) == 1 and not any(choice.values()) and not rest.get("usage")
            if alone and said[0] in TEXTS and isinstance(delta[said[0]], str):
                return said[0]
    return None


def _delta(piece: Any) -> Any:
    return piece["choices"][0]["delta"]
