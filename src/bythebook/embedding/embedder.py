"""What every embedder can do, and which one the settings ask for."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.runtime import Processes


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

    def stay_in(self, processes: Processes) -> None:
        """Embed documents in these processes from now on, if that is done on this machine."""

    async def check(self) -> None:
        """Embed one word now, whatever is remembered; raises what is wrong."""

    async def close(self) -> None:
        """Give back threads and connections; a closed embedder is not used again."""


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

# About two megabytes of vectors with 384 numbers each.
MOST = 1000


class Recent(Generic[Key, Value]):
    """Asks `make` only for what it has not been asked lately."""

    def __init__(self, make: Callable[[Key], Awaitable[Value]]) -> None:
        self._make = make
        self._known: OrderedDict[Key, Value] = OrderedDict()

    async def get(self, key: Key) -> Value:
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        value = await self._make(key)
        self._known[key] = value
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        return value


def make_embedder(settings: Settings) -> Embedder:
    """Nothing is loaded or contacted before the first text, but a missing key is told at once."""
    # Imported here because each brings a heavy library that the other choices do without.
    if settings.embedder == "openai":
        from bythebook.embedding.remote import OpenAIEmbedder

        return OpenAIEmbedder.from_settings(settings)
    if settings.embedder == "cohere":
        from bythebook.embedding.remote import CohereEmbedder

        return CohereEmbedder.from_settings(settings)
    from bythebook.embedding.minilm import MiniLM

    return MiniLM(threads=settings.embedding_threads)
