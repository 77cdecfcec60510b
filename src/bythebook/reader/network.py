"""The reader's network and tokenizer, loaded when first needed, once in a process."""

from __future__ import annotations

import json
import math
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bythebook.embedding.embedder import encodable
from bythebook.embedding.weights_file import WeightsPackage, checked_file
from bythebook.errors import ConfigurationError
from bythebook.memory import give_back_freed
from bythebook.reader.windows import windows

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

START, END = 101, 102
LONGEST_ASKED, LONGEST_HEADING = 80, 24
PACKAGE = WeightsPackage("reader", "bythebook-reader")
# What is longer is cut before it becomes word pieces; no passage of a book comes near.
LONGEST_TEXT = 200_000


@dataclass(frozen=True)
class Scale:
    """From the network's logit to a probability, fitted on books that it was not trained on."""

    slope: float
    offset: float

    def probability(self, logit: float) -> float:
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, self.slope * logit + self.offset))))


@dataclass(frozen=True)
class Calibration:
    answers: Scale
    supports: Scale
    evidence: Scale
    evidence_threshold: float


@dataclass(frozen=True)
class Encoded:
    """A question or sentence with one passage, as the network is given it: one row of word pieces
    for each stretch of the passage, and the characters that each piece of the text stands for."""

    asked: list[int]
    heading: list[int]
    pieces: list[int]
    characters: list[tuple[int, int]]
    stretches: list[tuple[int, int]]


@dataclass(frozen=True)
class Stretch:
    """What the network says of one stretch: logits."""

    answers: float
    supports: float
    start: int
    evidence: list[float]


class Network:
    """Loaded when first needed; any thread may use it. One stretch is read in one call and never
    padded, so that what is said of it depends on nothing else."""

    def __init__(self, weights: Path, threads: int = 1) -> None:
        self.weights, self.threads = weights, threads
        self._loading = threading.Lock()
        self._loaded: tuple[Tokenizer, onnxruntime.InferenceSession] | None = None
        self._calibration: Calibration | None = None

    @property
    def calibration(self) -> Calibration:
        if self._calibration is None:
            self._calibration = _calibration(self.weights)
        return self._calibration

    def encode(self, asked: str, heading: str, text: str) -> Encoded:
        tokenizer, _ = self.load()
        first, above, body = (
            tokenizer.encode(encodable(part[:LONGEST_TEXT]), add_special_tokens=False)
            for part in (asked, heading, text)
        )
        return Encoded(
            # What came before in a conversation stands first and goes first.
            first.ids[-LONGEST_ASKED:],
            above.ids[:LONGEST_HEADING],
            body.ids,
            body.offsets,
            windows(len(body.ids)),
        )

    def run(self, encoded: Encoded, number: int) -> Stretch:
        """What the network says of the stretch of that number."""
        import numpy as np  # not before something is read: many commands never do

        _, session = self.load()
        start, end = encoded.stretches[number]
        head = [START, *encoded.asked, END]
        body = [*encoded.heading, *encoded.pieces[start:end], END]
        ids = np.array([head + body], np.int64)
        kinds = np.array([[0] * len(head) + [1] * len(body)], np.int64)
        answers, supports, evidence = session.run(None, {"input_ids": ids, "kinds": kinds})
        first = len(head) + len(encoded.heading)
        return Stretch(
            float(answers.reshape(-1)[0]),
            float(supports.reshape(-1)[0]),
            start,
            evidence[0, first : first + end - start, 0].tolist(),
        )

    def load(self) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
        with self._loading:
            if self._loaded is None:
                self._loaded = _open(self.weights, self.threads)
            return self._loaded


@cache
def network(weights: Path, threads: int) -> Network:
    """The one network of this process."""
    return Network(weights, threads)


def installed_weights() -> Path:
    try:
        from bythebook_reader import WEIGHTS
    except ImportError as problem:
        raise ConfigurationError(
            "The reading model is not installed: the package bythebook-reader is missing.",
            action="Install it: pip install bythebook-reader. Or set BYTHEBOOK_READER=off.",
        ) from problem
    return Path(WEIGHTS)


def _calibration(folder: Path) -> Calibration:
    file = checked_file("calibration.json", folder, PACKAGE)
    stored = json.loads(file.read_text(encoding="utf-8"))
    scales = {name: Scale(*stored[name]) for name in ("answers", "supports", "evidence")}
    return Calibration(**scales, evidence_threshold=stored["evidence_threshold"])


def _open(folder: Path, threads: int) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(checked_file("tokenizer.json", folder, PACKAGE)))
    # A book that writes [SEP] means the word, not the mark.
    tokenizer.encode_special_tokens = True
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Threads that wait must not keep the other work of a service from the cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    model = str(checked_file("model.onnx", folder, PACKAGE))
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    give_back_freed()
    return tokenizer, session
