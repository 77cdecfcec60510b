"""The list of sources below an answer, for clients that show nothing but text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bythebook.models.answer import Citation

TITLE = "\n\nSources:\n"
BEFORE_ADDRESS = " – "
LINE = re.compile(rf"- \[\d+\] (.*?)(?:{BEFORE_ADDRESS}\S+)?$")


def sources_of(citations: Iterable[Citation]) -> str:
    """Titles and addresses, by the numbers that the markers have; nothing for a refusal."""
    lines = [_line(citation) for citation in citations]
    return TITLE + "\n".join(lines) if lines else ""


def without_sources(text: str) -> tuple[str, tuple[str, ...]]:
    """An answer that comes back as part of a conversation, and the titles of its sources."""
    said, _, listed = text.rpartition(TITLE)
    found = [LINE.match(line) for line in listed.splitlines()]
    titles = tuple(line[1] for line in found if line)
    if not said or len(titles) < len(found):  # a list of the answer's own
        return text, ()
    return said, titles


def _line(citation: Citation) -> str:
    shown = f"{BEFORE_ADDRESS}{citation.url}" if citation.url else ""
    return f"- [{citation.number}] {citation.label}{shown}"
