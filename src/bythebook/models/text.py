"""Text from outside."""

from __future__ import annotations

# Characters of a question, in S0; a message of a chat, in S4, has fewer.
MAX_QUESTION = 2000


def not_blank(text: str) -> str:
    """The text without white space around it; nothing but white space is an error."""
    stripped = text.strip()
    if not stripped:
        raise ValueError("is blank")
    return stripped
