"""A conversation as a model is given it.

An earlier answer is followed by the places it cited, so that "the second source" means something.
"""

from __future__ import annotations

from collections.abc import Iterable

from bythebook.models.conversation import Turn


def messages_of(turns: Iterable[Turn]) -> list[dict[str, str]]:
    messages: list[dict[str, str]] = []
    for turn in turns:
        listed = "\n".join(f"[{number}] {label}" for number, label in enumerate(turn.sources, 1))
        answer = turn.answer + (f"\n\nSources:\n{listed}" if listed else "")
        messages += [
            {"role": "user", "content": turn.question},
            {"role": "assistant", "content": answer},
        ]
    return messages
