"""A text made shorter for display, cut between words."""

from __future__ import annotations

from bythebook.models.chunk import WORD

CUT = "…"


def excerpt(text: str, limit: int, shown: tuple[int, int] = (0, 0)) -> str:
    """At most `limit` characters: from the beginning, or from where `shown` begins if it would
    otherwise not be seen whole."""
    if len(text) <= limit:
        return text
    first, last = shown
    if last < limit:
        return text[: _last_word_end(text, limit) or limit - 1] + CUT
    rest = text[first:]
    if len(rest) < limit:
        return CUT + rest
    return CUT + rest[: _last_word_end(rest, limit - 1) or limit - 2] + CUT


def shortened(text: str, limit: int) -> str:
    """The text on one line; nothing at all if not even its first word has room."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    end = _last_word_end(line, limit)
    return line[:end] + CUT if end else ""


def _last_word_end(text: str, limit: int) -> int:
    """Where the last word ends that leaves room for the sign of the cut; 0 if none does."""
    ends = (word.end() for word in WORD.finditer(text, 0, limit))
    return max((end for end in ends if end < limit), default=0)
