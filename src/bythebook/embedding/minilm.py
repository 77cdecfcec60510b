"""The built-in embedder: all-MiniLM-L6-v2 on this machine's cores, with no key and no download."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bythebook.embedding.embedder import encodable
from bythebook.embedding.recent import RecentQueries
from bythebook.embedding.weights_file import FOLDER, checked_file
from bythebook.embedding.windows import even_windows
from bythebook.memory import give_back_freed

if TYPE_CHECKING:
    import numpy as np
    import onnxruntime  # type: ignore[import-untyped]
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from bythebook.processes import Processes

START, END = 101, 102
# The model was trained on 256 word pieces, two of which are the marks at start and end.
WINDOW = 254
# A file that nobody can read may end the process that reads and embeds, again and again.
ATTEMPTS = 6


class MiniLM:
    """Several threads, each running one window of one text on one core.

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
        self._recent = RecentQueries(self._embed_query)

    def stay_in(self, processes: Processes) -> None:
        """From now on documents are embedded there."""
        self._processes = processes

    async def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np  # not before something is embedded: many commands never do

        waiting = [self._begin(text) for text in texts]
        try:
            vectors = await asyncio.gather(*waiting)
        finally:
            for future in waiting:
                future.cancel()
        self.texts_embedded += len(vectors)
        return np.array(vectors, np.float32).reshape(len(vectors), self.dimension)

    def _begin(self, text: str) -> asyncio.Future[NDArray[np.float32]]:
        if self._processes is None:
            loop = asyncio.get_running_loop()
            return loop.run_in_executor(self._documents, self._model.vector, text)
        weights = self._model.weights
        return asyncio.ensure_future(self._processes.run(_vector, weights, text, attempts=ATTEMPTS))

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        return await self._recent.vector(text)

    async def _embed_query(self, text: str) -> NDArray[np.float32]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._queries, self._model.vector, text)

    async def check(self) -> None:
        await self._embed_query("book")

    async def close(self) -> None:
        for pool in (self._documents, self._queries):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)


class Model:
    """The network and its tokenizer, loaded when first needed; any thread may use it."""

    def __init__(self, weights: Path) -> None:
        self.weights = weights
        self._loading = threading.Lock()
        self._loaded: tuple[Tokenizer, onnxruntime.InferenceSession] | None = None

    def vector(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        tokenizer, session = self._load()
        pieces = tokenizer.encode(encodable(text), add_special_tokens=False).ids
        rows = [
            session.run(None, {"input_ids": np.array([[START, *window, END]], np.int64)})[0][0]
            for window in even_windows(pieces, WINDOW)
        ]
        if len(rows) == 1:
            only: NDArray[np.float32] = rows[0]
            return only
        mean = np.stack(rows).mean(axis=0, dtype=np.float64)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)

    def _load(self) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
        with self._loading:
            if self._loaded is None:
                self._loaded = _open(self.weights)
            return self._loaded


@cache
def _model(weights: Path) -> Model:
    return Model(weights)


def _vector(weights: Path, text: str) -> NDArray[np.float32]:
    """Called in another process, which keeps its model."""
    return _model(weights).vector(text)


def _open(folder: Path) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(checked_file("tokenizer.json", folder)))
    # A book that writes [SEP] means the word, not the mark.
    tokenizer.encode_special_tokens = True
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    # The graph is written as it should run; "extended" would fuse it into slower nodes.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # By its path: of bytes the session would keep a copy.
    model = str(checked_file("model.onnx", folder))
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    give_back_freed()
    return tokenizer, session
