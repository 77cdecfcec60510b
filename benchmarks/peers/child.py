"""The side of a peer: reads one JSON object a line, does it, and writes one back with its cost.

An adapter is a class with `open`, `ingest`, `reingest`, `fill` and `search`; see Adapter.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO, runtime_checkable

CHAPTERS = 10


@dataclass(frozen=True)
class Hit:
    source: str
    text: str


class Adapter(Protocol):
    """What a peer must be able to do. All of it keeps its data below `home`."""

    def open(self, home: Path) -> None:
        """Load what an earlier process left in `home`, ready to search; empty is allowed."""

    def ingest(self, folder: Path) -> dict[str, Any]:
        """Read, cut, embed and keep every file; tells at least `chunks`. What is only to be
        counted goes into a function `afterwards`."""

    def reingest(self, folder: Path) -> dict[str, Any]:
        """Bring the index up to date; `full` in the answer says that it had to begin again."""

    def fill(self, chunks: list[dict[str, Any]], vectors: Any) -> None:
        """Keep chunks (id, text, source, chapter) whose vectors are given."""

    def search(self, question: str, limit: int, chapter: int | None) -> list[Hit]:
        """The best chunks, with `chapter` only those of that chapter."""

    def ask(self, question: str) -> str:
        """A complete answer without a language model. Only bythebook has one."""

    def raw(self, folder: Path) -> dict[str, Any]:
        """The embedder alone on the texts of an ingest. Only bythebook's is asked for."""


@runtime_checkable
class LoadsLate(Protocol):
    """A peer that imports what an ingest needs not with the rest, but when one begins."""

    def load(self, changes: bool) -> None:
        """Import it now, with `changes` also what only an ingest that changes something needs:
        where libraries are not to be timed, these are not either."""


def serve(adapter: Adapter) -> None:
    """Until `quit` or the end of the input."""
    replies = _own_stdout()
    for line in sys.stdin:
        request = json.loads(line)
        do = request.pop("do")
        if do == "quit":
            break
        started = time.perf_counter()
        cpu = time.process_time()
        reply = _COMMANDS[do](adapter, **request) or {}
        reply["seconds"] = time.perf_counter() - started
        reply["cpu_seconds"] = time.process_time() - cpu
        reply["peak_mb"] = memory_mb("VmHWM")
        reply["held_mb"] = memory_mb("RssAnon")
        count = reply.pop("afterwards", None)
        if count and do == "ingest":  # of a re-ingest the whole process is timed
            reply |= count()
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    replies.close()
    os._exit(0)  # what is left is threads of libraries; everything is on disk


def _own_stdout() -> TextIO:
    """The pipe to the harness; whatever libraries print goes to stderr."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return replies


def memory_mb(kind: str) -> float:
    """VmHWM is the most memory this program held, RssAnon what it holds now and can't give back:
    the rest is files that the system can drop. getrusage would count the parent's as well."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) / 1024
    raise OSError("This machine does not tell how much memory a process held.")


def _search(
    adapter: Adapter, questions: list[str], limit: int, chapter: int | None, budget_s: float
) -> dict[str, Any]:
    """Each question once, for at most so long; the first is asked before, to warm up."""
    times: list[float] = []
    found: list[list[Hit]] = []
    adapter.search(questions[0], limit, chapter)
    begun = time.perf_counter()
    for question in questions:
        started = time.perf_counter()
        found.append(adapter.search(question, limit, chapter))
        ended = time.perf_counter()
        times.append(ended - started)
        if ended - begun > budget_s:
            break
    return {
        "times": times,
        "sources": [[hit.source for hit in hits] for hits in found],
        "texts": [hit.text for hit in found[0]],
    }


def _load(adapter: Adapter, changes: bool) -> None:
    if isinstance(adapter, LoadsLate):
        adapter.load(changes)


def _fill(adapter: Adapter, chunks: str, vectors: str, count: int) -> None:
    import numpy as np

    with Path(chunks).open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]
    adapter.fill(rows, np.load(vectors, mmap_mode="r")[:count])


def _first(adapter: Adapter, home: str, question: str, answer: bool) -> dict[str, Any]:
    """What a person waits for after starting the program."""
    adapter.open(Path(home))
    if answer:
        return {"texts": [adapter.ask(question)]}
    return {"texts": [hit.text for hit in adapter.search(question, 5, None)]}


def _answer(adapter: Adapter, questions: list[str]) -> dict[str, Any]:
    times: list[float] = []
    for question in [questions[0], *questions]:
        started = time.perf_counter()
        adapter.ask(question)
        times.append(time.perf_counter() - started)
    return {"times": times[1:]}


_COMMANDS: dict[str, Callable[..., dict[str, Any] | None]] = {
    "open": lambda adapter, home: adapter.open(Path(home)),
    "ingest": lambda adapter, folder: adapter.ingest(Path(folder)),
    "reingest": lambda adapter, folder: adapter.reingest(Path(folder)),
    "raw": lambda adapter, folder: adapter.raw(Path(folder)),
    "answer": _answer,
    "fill": _fill,
    "load": _load,
    "first": _first,
    "search": _search,
}
