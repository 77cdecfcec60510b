"""How long a search takes while a book is ingested beside it, in one process and one event loop.

    python benchmarks/during_ingest.py [--data ../shared/data] [--rounds 3] [--seconds 8]

Each round measures searches of the sample book during an ingest of another book, and alone before
and after it. Only the ratio says anything: the machine's own mood is in both.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from bythebook.library import Library, sample_book
from bythebook.models.search_messages import SearchQuery
from bythebook.settings import Settings

OTHER = "docusaurus-docs"
QUESTIONS = (
    "What is a ROS 2 node?",
    "How do nodes exchange messages?",
    "How is a robot described in URDF?",
    "Which sensors can be simulated?",
    "How does a service differ from an action?",
    "What does a publisher need?",
    "How do I launch several nodes at once?",
    "What is the quality of service?",
)


async def search_for(library: Library, book_id: str, seconds: float) -> list[float]:
    """How long each of the searches took that followed one another for so long."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        query = SearchQuery(text=QUESTIONS[len(times) % len(QUESTIONS)], book_id=book_id)
        started = time.perf_counter()
        await library.search(query)
        times.append(time.perf_counter() - started)
    return times


async def search_during(library: Library, book_id: str, other: Path) -> tuple[list[float], float]:
    """The same until the ingest ends, and how many passages a second it embedded."""
    before = library.embedder.texts_embedded
    started = time.perf_counter()
    ingest = asyncio.create_task(library.ingest(other, book_id="other", mode="recreate"))
    times: list[float] = []
    while not ingest.done():
        times += await search_for(library, book_id, 0.2)
    await ingest
    passages = library.embedder.texts_embedded - before
    return times, passages / (time.perf_counter() - started)


def show(what: str, times: list[float]) -> float:
    p50, p95, p99 = np.percentile(times, [50, 95, 99]) * 1000
    print(f"{what}: p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms, {len(times)} searches")
    return float(p95)


async def measure(work: Path, archive: Path, rounds: int, seconds: float) -> None:
    other = work / OTHER
    with tarfile.open(archive) as packed:
        packed.extractall(other, filter="data")
    ratios: list[float] = []
    async with await Library.open(Settings(home=work / "home")) as library:
        book_id = (await library.ingest(sample_book())).book_id
        library.stay_in_background()  # as the service does
        await search_for(library, book_id, 1.0)
        for _ in range(rounds):
            quiet = await search_for(library, book_id, seconds / 2)
            times, rate = await search_during(library, book_id, other)
            quiet += await search_for(library, book_id, seconds / 2)
            alone, during = show("alone", quiet), show("during an ingest", times)
            ratios.append(during / alone)
            print(f"p95 during ÷ alone: {ratios[-1]:.2f}; {rate:.1f} passages/s", flush=True)
    print(f"median of {rounds}: {median(ratios):.2f} ({min(ratios):.2f} – {max(ratios):.2f})")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=8.0)
    chosen = options.parse_args()
    archive = chosen.data / "books" / f"{OTHER}.tar.xz"
    if not archive.exists():
        sys.exit(f"There is no {archive}; give the folder of the data with --data.")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), archive, chosen.rounds, chosen.seconds))


if __name__ == "__main__":
    main()
