"""The three judgements, off the event loop, for one passage or for several until it is sure."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeVar

from bythebook.embedding.embedder import Recent
from bythebook.errors import ConfigurationError
from bythebook.models.passage import Passage
from bythebook.reader.network import (
    Encoded,
    Network,
    Stretch,
    installed_weights,
    network,
    unit_scores,
)
from bythebook.settings import Settings

Result = TypeVar("Result")

# A question or sentence, the headings above a text, and the text.
Asked = tuple[str, str, str]

# Above this another passage is not looked at for a better one. The network is never surer than
# .81 that a passage answers.
SURE_ANSWERS = 0.79
# What has this share of the threshold is evidence only beside what passes it.
FAINT = 0.5
WITHOUT = (
    "Without the reading model, search and refusals work as before, but nothing judges whether a "
    "passage answers, marks where, or checks what a sentence means."
)


@dataclass(frozen=True)
class Evidence:
    """`text[start:end]` of the passage is a part of the answer with this probability. Where it is
    `faint`, only together with a parallel unit beside it that is not."""

    start: int
    end: int
    score: float
    faint: bool = False


@dataclass(frozen=True)
class Reading:
    """Whether a passage answers the question, and where. `number` is its place in the list that
    was given; evidence is in reading order."""

    number: int
    answers: float
    evidence: tuple[Evidence, ...]


# Whether it answers, and where.
Judged = tuple[float, tuple[Evidence, ...]]


class Reader:
    """Judges passages with the network of bythebook-reader, one after the other: a passage gets
    all cores, so that the first verdict comes soon and the rest are often not needed."""

    def __init__(self, weights: Path, *, threads: int = 0) -> None:
        self._network: Network = network(weights, threads or os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="reader")
        self._readings = Recent(self._read)
        self._supports = Recent(self._support)

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """A reader that loads its network when first asked; an error where it is switched off."""
        if settings.reader == "off":
            raise ConfigurationError(
                f"The reading model is turned off (BYTHEBOOK_READER=off). {WITHOUT}",
                action="Remove BYTHEBOOK_READER, or set it to built-in.",
            )
        return cls(installed_weights(), threads=settings.embedding_threads)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    async def check(self) -> None:
        """Loads the network, so that what is wrong with it is told now."""
        await self._in_thread(lambda: (self._network.load(), self._network.calibration))

    async def read(self, question: str, passage: Passage | str) -> Reading:
        return (await self.read_all(question, [passage]))[0]

    async def read_all(
        self, question: str, passages: Sequence[Passage | str], *, sure: float = SURE_ANSWERS
    ) -> list[Reading]:
        """Readings, best first. Passages are read in the order given; when one of them answers
        for sure, those behind it are left unread."""
        found: list[Reading] = []
        for number, passage in enumerate(passages):
            asked = question, headings_of(passage), text_of(passage)
            found.append(Reading(number, *await self._readings.get(asked)))
            if found[-1].answers >= sure:
                break
        return sorted(found, key=lambda reading: (-reading.answers, reading.number))

    async def supports(self, claim: str, text: str, heading: str = "") -> float:
        """How likely the text says what the claim says."""
        return await self._supports.get((claim, heading, text))

    async def _support(self, asked: Asked) -> float:
        _, stretches = await self._judge(asked)
        scale = self._network.calibration.supports
        return scale.probability(max(each.supports for each in stretches))

    async def _read(self, asked: Asked) -> Judged:
        encoded, stretches = await self._judge(asked)

        def judged() -> Judged:
            scale = self._network.calibration.answers
            answers = scale.probability(max(each.answers for each in stretches))
            return answers, tuple(self._evidence(asked[-1], encoded, stretches))

        return await self._in_thread(judged)

    async def _judge(self, asked: Asked) -> tuple[Encoded, list[Stretch]]:
        net = self._network
        encoded = await self._in_thread(lambda: net.encode(*asked))
        runs = [
            self._in_thread(lambda number=number: net.run(encoded, number))  # type: ignore[misc]
            for number in range(len(encoded.stretches))
        ]
        return encoded, await asyncio.gather(*runs)

    def _evidence(
        self, text: str, encoded: Encoded, stretches: Sequence[Stretch]
    ) -> Iterator[Evidence]:
        """Units of the passage whose word pieces are likely enough a part of the answer, or the
        likeliest where none is; and those that may be."""
        scales = self._network.calibration
        logits: list[list[float]] = [[] for _ in encoded.pieces]
        for stretch in stretches:
            for place, logit in enumerate(stretch.evidence, stretch.start):
                logits[place].append(logit)
        likely = [scales.evidence.probability(sum(each) / len(each)) for each in logits]
        found = [Evidence(*unit) for unit in unit_scores(text, encoded.characters, likely)]
        least = min(scales.evidence_threshold, max((one.score for one in found), default=1.0))
        for one in found:
            if one.score >= FAINT * least:
                yield replace(one, faint=one.score < least)

    def _in_thread(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        return asyncio.get_running_loop().run_in_executor(self._pool, work)


def text_of(passage: Passage | str) -> str:
    return passage if isinstance(passage, str) else passage.text


def headings_of(passage: Passage | str) -> str:
    return "" if isinstance(passage, str) else " › ".join(passage.metadata.heading_path)
