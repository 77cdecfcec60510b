"""Text from outside."""

from __future__ import annotations


def not_blank(text: str) -> str:
    """The text without white space around it; nothing but white space is an error."""
    stripped = text.strip()
    if not stripped:
        raise ValueError("is blank")
    return stripped
