"""The reader's network and tokenizer, and the stretches in which a passage is read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from bythebook.embedding.onnx_model import OnnxModel, WeightsPackage, checked_file, encodable
from bythebook.errors import ConfigurationError
from bythebook.language.segmentation import units_of

# The network was trained on stretches of so many word pieces, each repeating the last of the one
# before.
WINDOW, OVERLAP = 320, 32


def windows(length: int, size: int = WINDOW, overlap: int = OVERLAP) -> list[tuple[int, int]]:
    """As few even stretches as hold all pieces, each repeating the end of the one before."""
    if length <= size:
        return [(0, length)]
    count = -(-(length - overlap) // (size - overlap))
    edges = [(length - overlap) * number // count for number in range(count + 1)]
    return [(start, end + overlap) for start, end in pairwise(edges)]


def evidence_units(text: str) -> list[tuple[int, int]]:
    """Ranges of sentences, list items, table rows and code blocks, in reading order."""
    return [(unit.start, unit.end) for unit in units_of(text) if unit.kind != "heading"]


def unit_scores(
    text: str, characters: Sequence[tuple[int, int]], likely: Sequence[float]
) -> Iterator[tuple[int, int, float]]:
    """Each unit with the mean of what is said of its word pieces."""
    place = 0
    for start, end in evidence_units(text):
        while place < len(likely) and characters[place][0] < start:
            place += 1
        first = place
        while place < len(likely) and characters[place][0] < end:
            place += 1
        if place > first:
            yield start, end, sum(likely[first:place]) / (place - first)


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
class ReaderCalibration:
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


class Network(OnnxModel):
    """One stretch is read in one call and never padded, so that what is said of it depends on
    nothing else."""

    def __init__(self, weights: Path, threads: int = 1) -> None:
        super().__init__(weights, PACKAGE, threads)
        self._calibration: ReaderCalibration | None = None

    @property
    def calibration(self) -> ReaderCalibration:
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
            # What came before in a conversation stands first and goes first; of headings, the
            # last is that of the text.
            first.ids[-LONGEST_ASKED:],
            above.ids[-LONGEST_HEADING:],
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


def _calibration(folder: Path) -> ReaderCalibration:
    file = checked_file("calibration.json", folder, PACKAGE)
    stored = json.loads(file.read_text(encoding="utf-8"))
    scales = {name: Scale(*stored[name]) for name in ("answers", "supports", "evidence")}
    return ReaderCalibration(**scales, evidence_threshold=stored["evidence_threshold"])
