"""The part of a passage to show in a list: where the question's words are densest."""

from __future__ import annotations

import re

from bythebook.index.sparse import terms

LINES = 4
WIDTH = 400
HEADING = re.compile(r"^#{1,6}\s")


def snippet(text: str, question: str, language: str) -> str:
    """A few lines around the best one; headings are already shown above it."""
    wanted = set(terms(question, language))
    lines = [line for line in text.splitlines() if line.strip() and not HEADING.match(line)]
    if not lines:
        return text
    hits = [len(wanted & set(terms(line, language))) for line in lines]
    scores = [sum(hits[i : i + LINES]) + hits[i] for i in range(len(lines))]
    start = scores.index(max(scores))
    shown = "\n".join(lines[start : start + LINES])
    if len(shown) <= WIDTH:
        return shown
    return shown[:WIDTH].rsplit(maxsplit=1)[0] + " …"
