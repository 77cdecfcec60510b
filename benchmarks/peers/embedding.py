"""The embedder that every peer shares: bythebook's weights, on all cores.

The graph has no mask, so a text is never padded and runs alone; the longest begin, so that the
cores end together. As the published model does, a text is cut after 256 word pieces; how many
there were and how many were embedded is counted, because a peer with long chunks embeds less of
the book.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from tokenizers import Tokenizer

START, END = 101, 102
WINDOW = 254
DIMENSION = 384


class SharedEmbedder:
    """Texts in, unit vectors out."""

    def __init__(self, weights: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_mem_pattern = False
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._session = onnxruntime.InferenceSession(
            str(weights / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = _tokenizer(weights)
        self._threads = ThreadPoolExecutor(os.cpu_count() or 1)
        self.texts = self.pieces = self.embedded = 0
        self._known: dict[str, NDArray[np.float32]] = {}

    def know(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """From now on these texts cost nothing: their vectors are given."""
        self._known = dict(zip(texts, vectors, strict=True))

    @property
    def counts(self) -> dict[str, int]:
        return {"texts": self.texts, "pieces": self.pieces, "embedded_pieces": self.embedded}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._known:
            return np.array([self._known[text] for text in texts])
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        pieces = [one.ids for one in encoded]
        self.texts += len(pieces)
        self.pieces += sum(map(len, pieces))
        self.embedded += sum(min(len(one), WINDOW) for one in pieces)
        order = sorted(range(len(pieces)), key=lambda i: -len(pieces[i]))
        vectors = np.empty((len(pieces), DIMENSION), np.float32)
        done = self._threads.map(self._run, (pieces[i] for i in order))
        for i, vector in zip(order, done, strict=True):
            vectors[i] = vector
        return vectors

    def query(self, text: str) -> NDArray[np.float32]:
        return self._run(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _run(self, pieces: Sequence[int]) -> NDArray[np.float32]:
        window = np.array([[START, *pieces[:WINDOW], END]], np.int64)
        vector: NDArray[np.float32] = self._session.run(None, {"input_ids": window})[0][0]
        return vector


def _tokenizer(weights: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    return tokenizer


def _weights() -> Path:
    return Path(os.environ["PEERS_WEIGHTS"])


@cache
def shared_embedder() -> SharedEmbedder:
    return SharedEmbedder(_weights())


def counts_of(texts: Sequence[str]) -> dict[str, int]:
    """The same counts for texts that another embedder read, of which it read as much."""
    encoded = _tokenizer(_weights()).encode_batch(list(texts), add_special_tokens=False)
    lengths = [len(one.ids) for one in encoded]
    return {
        "texts": len(lengths),
        "pieces": sum(lengths),
        "embedded_pieces": sum(min(length, WINDOW) for length in lengths),
    }


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """For a peer that wants a function by its name."""
    return shared_embedder().embed(texts)
