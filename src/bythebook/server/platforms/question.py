"""A question that came from a chat platform."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from typing import Literal

Platform = Literal["slack", "discord"]


@dataclass(frozen=True)
class Question:
    """`delivery` is what the platform calls it each time it sends it, `asker` a person there, and
    `place` where the conversation is held."""

    platform: Platform
    delivery: str
    asker: str
    channel: str
    place: tuple[str, ...]
    text: str


def session_of(question: Question, book_id: str, part: int) -> str:
    """The id of a conversation, the same in every service. The parts of a long one have their
    own."""
    names = (question.platform, book_id, *question.place, str(part))
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def book_of(setting: str, channel: str) -> str | None:
    """The book for a channel, by a setting such as `C024BE91L=history,physics`."""
    default: str | None = None
    for entry in filter(None, (entry.strip() for entry in setting.split(","))):
        name, is_pair, book_id = (part.strip() for part in entry.partition("="))
        if not is_pair:
            default = name
        elif name == channel:
            return book_id
    return default
