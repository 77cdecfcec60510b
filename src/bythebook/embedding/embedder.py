"""What every embedder can do, the built-in one, and which one the settings ask for."""

from __future__ import annotations

import asyncio
import os
from array import array
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from bythebook.embedding.onnx_model import FOLDER, OnnxModel, encodable, even_windows
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


# all-MiniLM-L6-v2 marks the start and the end of what it reads.
START, END = 101, 102
# The model was trained on 256 word pieces, two of which are the marks at start and end.
WINDOW = 254


class Model(OnnxModel):
    def vector(self, text: str) -> array[float]:
        import numpy as np  # not before something is embedded: many commands never do

        tokenizer, session = self.load()
        pieces = tokenizer.encode(encodable(text), add_special_tokens=False).ids
        rows = [
            session.run(None, {"input_ids": np.array([[START, *window, END]], np.int64)})[0][0]
            for window in even_windows(pieces, WINDOW)
        ]
        vector = rows[0]
        if len(rows) > 1:
            mean = np.stack(rows).mean(axis=0, dtype=np.float64)
            vector = np.asarray(mean / np.linalg.norm(mean), np.float32)
        return array("f", vector.tobytes())


# A file that nobody can read may end the process that reads and embeds, again and again.
ATTEMPTS = 6


class MiniLM:
    """The built-in embedder: all-MiniLM-L6-v2 on this machine's cores, with no key and no download.

    It has several threads, each running one window of one text on one core.

    Its 8-bit arithmetic takes its scales from whatever is computed together. A window therefore
    never shares a call with another and is never padded: a vector depends on its text alone, not
    on which texts were embedded with it, in which order or on how many threads.
    """

    name = "all-MiniLM-L6-v2"
    dimension = 384

    def __init__(self, *, threads: int = 0, weights: Path = FOLDER) -> None:
        self.texts_embedded = 0
        self._model = Model(weights)
        self._processes: Processes | None = None
        count = threads or os.cpu_count() or 1
        self._documents = ThreadPoolExecutor(count, thread_name_prefix="embed-documents")
        # Own threads, so that a question does not wait for the rest of a book.
        self._queries = ThreadPoolExecutor(count, thread_name_prefix="embed-query")
        self._recent = Recent(self._embed_query)

    def stay_in(self, processes: Processes) -> None:
        self._processes = processes

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        waiting = [self._begin(text) for text in texts]
        try:
            vectors = await asyncio.gather(*waiting)
        finally:
            for future in waiting:
                future.cancel()
        self.texts_embedded += len(vectors)
        return vectors

    def _begin(self, text: str) -> asyncio.Future[array[float]]:
        if self._processes is None:
            loop = asyncio.get_running_loop()
            return loop.run_in_executor(self._documents, self._model.vector, text)
        weights = self._model.weights
        return asyncio.ensure_future(self._processes.run(_vector, weights, text, attempts=ATTEMPTS))

    async def embed_query(self, text: str) -> array[float]:
        return await self._recent.get(text)

    async def _embed_query(self, text: str) -> array[float]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._queries, self._model.vector, text)

    async def check(self) -> None:
        await self._embed_query("book")

    async def close(self) -> None:
        for pool in (self._documents, self._queries):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)


@cache
def _model(weights: Path) -> Model:
    return Model(weights)


def _vector(weights: Path, text: str) -> array[float]:
    """Called in another process, which keeps its model."""
    return _model(weights).vector(text)


def make_embedder(settings: Settings) -> Embedder:
    """Nothing is loaded or contacted before the first text, but a missing key is told at once."""
    # Imported here because it brings heavy libraries that the built-in one does without.
    if settings.embedder == "openai":
        from bythebook.embedding.remote import OpenAIEmbedder

        return OpenAIEmbedder(settings)
    if settings.embedder == "cohere":
        from bythebook.embedding.remote import CohereEmbedder

        return CohereEmbedder(settings)
    return MiniLM(threads=settings.embedding_threads)
