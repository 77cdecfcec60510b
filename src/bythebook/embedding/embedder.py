"""What every embedder can do, whatever runs behind it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Turns text into vectors of unit length, in single precision."""

    @property
    def name(self) -> str:
        """The model, as it is remembered beside every vector it made."""

    @property
    def dimension(self) -> int:
        """Numbers in one vector."""

    @property
    def texts_embedded(self) -> int:
        """Documents embedded so far; queries don't count."""

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        """One for each text, in the order given."""

    async def embed_query(self, text: str) -> array[float]:
        """One vector, to be compared with those of documents. It is kept for the next who asks the
        same, so nobody changes it."""

    async def check(self) -> None:
        """Embed one word now, whatever is remembered; raises what is wrong."""

    async def close(self) -> None:
        """Give back threads and connections; a closed embedder is not used again."""


def encodable(text: str) -> str:
    """The text without lone surrogates, which JSON may bring in and UTF-8 can't carry out."""
    return text.encode("utf-8", "replace").decode("utf-8")
