"""Vectors of the last questions: the search wants one, the answer wants it again, and so does the
next reader who clicks the same suggestion."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Awaitable, Callable

# About two megabytes with 384 numbers each.
MOST = 1000


class RecentQueries:
    """Asks `embed` only for what it has not been asked lately."""

    def __init__(self, embed: Callable[[str], Awaitable[array[float]]]) -> None:
        self._embed = embed
        self._vectors: OrderedDict[str, array[float]] = OrderedDict()

    async def vector(self, text: str) -> array[float]:
        if (known := self._vectors.get(text)) is not None:
            self._vectors.move_to_end(text)
            return known
        vector = await self._embed(text)
        self._vectors[text] = vector
        if len(self._vectors) > MOST:
            self._vectors.popitem(last=False)
        return vector
