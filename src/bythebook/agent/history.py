"""A conversation as a model is given it, and read back by the built-in one.

An earlier answer is followed by the places it cited, so that "the second source" means something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from bythebook.models.conversation import Turn

SOURCES = "\n\nSources:\n"
SOURCE = re.compile(r"^\[\d+\] (.*)$", re.MULTILINE)


def messages_of(turns: Iterable[Turn]) -> list[dict[str, str]]:
    messages: list[dict[str, str]] = []
    for turn in turns:
        listed = "\n".join(f"[{number}] {label}" for number, label in enumerate(turn.sources, 1))
        answer = turn.answer + (SOURCES + listed if listed else "")
        messages += [
            {"role": "user", "content": turn.question},
            {"role": "assistant", "content": answer},
        ]
    return messages


def turns_of(items: Sequence[Any]) -> list[Turn]:
    """The turns back from messages; the question that is still open is not among them."""
    turns: list[Turn] = []
    question: str | None = None
    for item in items:
        role, content = item.get("role"), item.get("content")
        if not isinstance(content, str):
            continue
        if role == "user":
            question = content
        elif role == "assistant" and question is not None:
            answer, _, listed = content.partition(SOURCES)
            sources = tuple(SOURCE.findall(listed))
            turns.append(Turn(question, answer, sources, refused=not sources))
            question = None
    return turns
