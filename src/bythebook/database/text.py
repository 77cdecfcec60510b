"""Text as both databases can keep it."""

from __future__ import annotations

import re

# PostgreSQL takes no NUL, and no JSON a half of a surrogate pair.
NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    return NOT_STORABLE.sub("\ufffd", text)
