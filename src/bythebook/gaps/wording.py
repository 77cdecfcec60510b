"""The same question, however it was typed."""

from __future__ import annotations

import re
import unicodedata

EDGES = " \t.,;:!?¿¡…。?!\"'`*()[]"
SPACES = re.compile(r"\s+")


def plain(question: str) -> str:
    """Without case, spacing and what stands around it, so that only words tell them apart."""
    text = unicodedata.normalize("NFKC", question).replace("’", "'")
    text = SPACES.sub(" ", text).casefold().strip(EDGES)
    return text or question.strip()
