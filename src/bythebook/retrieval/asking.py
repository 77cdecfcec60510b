"""What a question asks with, and what it asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar

from bythebook.index.sparse import query_terms

# Words a person asks with. Whether a passage has them says nothing about it, so they count only
# where there is nothing else.
ASKING = (
    "please explain describe define tell help want know understand wonder meaning mean thanks "
    "thank hello hi hey"
)
# "What is a topic?", "What are topics in ROS 2?", "define topic", "explain what a topic is"
DEFINITION = re.compile(
    r"^\W*(?:so|and|ok|please|can you|could you|\W)*\s*(?:what(?:'s|’s|\s+is|\s+are|\s+does)|"
    r"define|explain(?:\s+what)?|describe)\s+(?:an?\s+|the\s+)?(?P<term>[\w-]+(?:\s+[\w-]+){0,2}?)"
    r"(?:\s+(?:is|are|means?|in|on|of|for|stands?)\b.{0,40})?\s*[?.!]*$",
    re.IGNORECASE,
)

Found = TypeVar("Found")


def asked_terms(text: str, language: str) -> list[int]:
    """The numbers of the words that are asked about."""
    words = query_terms(text, language).indices
    return [word for word in words if word not in _asking(language)] or words


def weight_as_written(word: str, language: str, weights: Mapping[int, float]) -> float:
    """The weight of a word of a question: of its heaviest term, 0 where it is not asked about."""
    known = (weights.get(term, 0.0) for term in query_terms(word, language).indices)
    return max(known, default=0.0)


@cache
def _asking(language: str) -> frozenset[int]:
    return frozenset(query_terms(ASKING, language).indices)


def term_to_define(text: str) -> str | None:
    """What a question wants to be told the meaning of."""
    found = DEFINITION.match(text)
    return found["term"] if found else None


def definitions_first(term: str, found: Sequence[Found], texts: Sequence[str]) -> list[Found]:
    """In the same order, but those first whose text defines the term: short questions have too few
    words to tell them from passages that merely use it."""
    name = r"\s+".join(re.escape(word) for word in term.split())
    defines = re.compile(
        rf"(?:\*\*|\b(?:an?|the)\s+\**){name}s?\**(?:\s*\([^)]*\))?\s+"
        r"(?:is|are|means?|refers?\s+to|describes?)\b|"
        rf"(?:^|[.!?]\s+){name}s?\s+(?:is|are)\s+(?:an?|the)\b|"
        rf"\b(?:called|known\s+as)\s+(?:an?\s+|the\s+)?\*\*{name}s?\*\*",
        re.IGNORECASE | re.MULTILINE,
    )
    marked = [(not defines.search(text), each) for each, text in zip(found, texts, strict=True)]
    return [each for _, each in sorted(marked, key=lambda pair: pair[0])]
