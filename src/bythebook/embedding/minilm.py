"""The built-in embedder: all-MiniLM-L6-v2 on this machine's cores, with no key and no download."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bythebook.embedding.embedder import encodable
from bythebook.embedding.weights_file import FOLDER, read_weights
from bythebook.embedding.windows import even_windows

if TYPE_CHECKING:
    import numpy as np
    import onnxruntime  # type: ignore[import-untyped]
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

START, END = 101, 102
# The last place among all threads, where documents stand once questions come too.
LAST = 19
# The model was trained on 256 word pieces, two of which are the marks at start and end.
WINDOW = 254


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
        self._weights = weights
        self._loading = threading.Lock()
        self._loaded: tuple[Tokenizer, onnxruntime.InferenceSession] | None = None
        self._has_readers = False
        count = threads or os.cpu_count() or 1
        self._documents = ThreadPoolExecutor(count, thread_name_prefix="embed-documents")
        # Own threads, so that a question does not wait for the rest of a book.
        self._queries = ThreadPoolExecutor(count, thread_name_prefix="embed-query")

    async def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np  # not before something is embedded: many commands never do

        loop = asyncio.get_running_loop()
        waiting = [loop.run_in_executor(self._documents, self._document, text) for text in texts]
        try:
            vectors = await asyncio.gather(*waiting)
        finally:
            for future in waiting:
                future.cancel()
        self.texts_embedded += len(vectors)
        return np.array(vectors, np.float32).reshape(len(vectors), self.dimension)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        self._has_readers = True
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._queries, self._vector, text)

    async def close(self) -> None:
        for pool in (self._documents, self._queries):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    def _document(self, text: str) -> NDArray[np.float32]:
        if self._has_readers:
            step_back()
        return self._vector(text)

    def _vector(self, text: str) -> NDArray[np.float32]:
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
        if self._loaded is None:  # the lock only then: it may be held by who stepped back
            with self._loading:
                self._loaded = self._loaded or _open(self._weights)
        return self._loaded


_thread = threading.local()


def step_back() -> None:
    """Let every other thread run before this one, where the system can tell threads apart."""
    if getattr(_thread, "behind", False) or sys.platform != "linux":
        return
    _thread.behind = True
    with suppress(OSError):  # a system that won't is no reason to fail
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LAST)


def _open(folder: Path) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(read_weights("tokenizer.json", folder))
    # A book that writes [SEP] means the word, not the mark.
    tokenizer.encode_special_tokens = True
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    # The graph is written as it should run; "extended" would fuse it into slower nodes.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return tokenizer, onnxruntime.InferenceSession(
        read_weights("model.onnx", folder), options, providers=["CPUExecutionProvider"]
    )
