"""What a reader is told of a model's searches: their own words, never the model's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from bythebook.index.sparse import terms
from bythebook.models.conversation import Turn

# The longest that a search is told as; a question is not much longer.
LONGEST = 300
# The id of a module, a level, a layer.
CHOICE = re.compile(r"[\w.-]{1,40}")


class Telling:
    """Nobody verifies what a model searches for. A book or a question that talks a model into it
    could make a query of what the model was told in secret, or of a claim; it is told to the reader
    only where the conversation has all its words."""

    def __init__(
        self, question: str, query: str, turns: Iterable[Turn], title: str, language: str
    ) -> None:
        self._own = query
        self._language = language
        said = [question, query, title]
        for turn in turns:
            said += [turn.question, turn.answer]
        self._known = frozenset(term for text in said for term in terms(text, language))

    def query(self, query: str) -> str:
        """The model's query, or the reader's own."""
        if len(query) <= LONGEST and self._known.issuperset(terms(query, self._language)):
            return query
        return self._own

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """Numbers and choices as they are; of free text the query, as it is told."""
        told = dict(given)
        if "query" in told:
            told["query"] = self.query(str(told["query"]))
        if isinstance(told.get("filters"), dict):
            told["filters"] = {
                name: value for name, value in told["filters"].items() if _is_choice(value)
            }
        return told


def _is_choice(value: object) -> bool:
    return not isinstance(value, str) or bool(CHOICE.fullmatch(value))
