"""The network all-MiniLM-L6-v2 and its tokenizer."""

from __future__ import annotations

import threading
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

from bythebook.embedding.embedder import encodable
from bythebook.embedding.weights_file import FOLDER, checked_file
from bythebook.embedding.windows import even_windows
from bythebook.memory import give_back_freed

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

START, END = 101, 102
# The model was trained on 256 word pieces, two of which are the marks at start and end.
WINDOW = 254


class Model:
    """Loaded when first needed; any thread may use it."""

    def __init__(self, weights: Path = FOLDER) -> None:
        self.weights = weights
        self._loading = threading.Lock()
        self._loaded: tuple[Tokenizer, onnxruntime.InferenceSession] | None = None

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

    def load(self) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
        with self._loading:
            if self._loaded is None:
                self._loaded = _open(self.weights)
            return self._loaded


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
