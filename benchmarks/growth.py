"""What a book costs as it grows: `python benchmarks/growth.py` writes benchmarks/GROWTH.md.

    python benchmarks/growth.py [--sizes 1000,10000,50000,100000] [--work FOLDER]

Everything but the model: vectors are made from a text's hash, because embedding a text costs the
same in a book of any size. Every figure comes from a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from array import array
from collections.abc import Awaitable, Callable, Sequence
from math import log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bythebook.database.engine import Database
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.runtime import Processes
from bythebook.settings import Settings

BOOK = "grown"
CHUNKS_OF_PAGE = 10
PAGES_OF_CHAPTER = 20
WORDS_OF_SECTION = 130
VOCABULARY = 20_000
QUESTIONS = 100
# What is measured, in the order in which it must happen, and how many times.
TASKS = {"ingest": 1, "unchanged": 3, "search": 1, "edited": 1, "deleted": 1}


class DiceEmbedder:
    """Vectors without a meaning, the same for the same text."""

    name = "dice"
    dimension = 384
    texts_embedded = 0

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        self.texts_embedded += len(texts)
        return [_thrown(text) for text in texts]

    async def embed_query(self, text: str) -> array[float]:
        return _thrown(text)

    def stay_in(self, processes: Processes) -> None:
        """Nothing here is worth another process."""

    async def check(self) -> None:
        return None

    async def close(self) -> None:
        return None


def _thrown(text: str) -> array[float]:
    vector = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(384)
    return array("f", (vector / np.linalg.norm(vector)).astype(np.float32).tobytes())


def words(chance: random.Random, count: int) -> str:
    """As frequent as words are: the second half as often as the first."""
    numbers = (int(VOCABULARY ** chance.random()) for _ in range(count))
    return " ".join(f"w{number:x}" for number in numbers)


def write_book(folder: Path, chunks: int) -> None:
    chance = random.Random(7)
    for page in range(chunks // CHUNKS_OF_PAGE):
        file = folder / f"chapter-{page // PAGES_OF_CHAPTER:04}" / f"{page:06}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        sections = [
            f"## Section {number} of {page}\n\n{words(chance, WORDS_OF_SECTION)}.\n"
            for number in range(CHUNKS_OF_PAGE)
        ]
        file.write_text(f"# Page {page}\n\n" + "\n".join(sections), encoding="utf-8")


async def opened(home: Path) -> Library:
    settings = Settings(home=home)
    return Library(settings, await Database.open(settings.database), DiceEmbedder())


async def ingest(library: Library, folder: Path) -> dict[str, Any]:
    job = await library.ingest(folder, book_id=BOOK)
    return {"written": job.chunks_created, "files": job.files_processed}


async def search(library: Library, _folder: Path) -> dict[str, Any]:
    chance = random.Random(8)
    figures: dict[str, Any] = {}
    await library.search(SearchQuery(text=words(chance, 8), book_id=BOOK))
    for name, chapter in (("plain", None), ("filtered", 2)):
        times = []
        for text in [words(chance, 8) for _ in range(QUESTIONS)]:
            query = SearchQuery(text=text, book_id=BOOK, chapter_min=chapter, chapter_max=chapter)
            started = time.process_time()
            await library.search(query)
            times.append(time.process_time() - started)
        figures[f"{name}_ms"] = 1000 * median(times)
    return figures


async def child(task: str, home: Path, folder: Path) -> None:
    do: Callable[[Library, Path], Awaitable[dict[str, Any]]]
    do = search if task == "search" else ingest
    library = await opened(home)
    begun = time.process_time()
    figures = await do(library, folder)
    figures["cpu_s"] = time.process_time() - begun
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    figures |= {"peak_mb": _megabytes(status["VmHWM"]), "held_mb": _megabytes(status["RssAnon"])}
    await library.close()
    print(json.dumps(figures))


def _megabytes(told: str) -> float:
    return int(told.split()[0]) / 1024


def run(task: str, home: Path, folder: Path) -> dict[str, Any]:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--child", task, str(home), str(folder)],
        check=True,
        capture_output=True,
        text=True,
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures | {"wall_s": time.perf_counter() - started}


def measure(size: int, work: Path) -> dict[str, Any]:
    folder, home = work / f"book-{size}", work / f"home-{size}"
    write_book(folder, size)
    time.sleep(2.5)  # what was written just now would be read again
    pages = sorted(folder.rglob("*.md"))
    figures: dict[str, Any] = {}
    for task, times in TASKS.items():
        if task == "edited":
            text = pages[len(pages) // 2].read_text(encoding="utf-8")
            pages[len(pages) // 2].write_text(text.replace("Section 3", "Part 3"), encoding="utf-8")
        if task == "deleted":
            pages[-1].unlink()
        runs = [run(task, home, folder) for _ in range(times)]
        figures[task] = sorted(runs, key=lambda one: float(one["cpu_s"]))[times // 2]
        print(f"{size:,} {task}: {figures[task]}", flush=True)
    figures["disk_mb"] = sum(f.stat().st_blocks * 512 for f in home.rglob("*")) / 1e6
    shutil.rmtree(folder)
    shutil.rmtree(home)
    return figures


ROWS: list[tuple[str, Callable[[dict[str, Any]], float]]] = [
    ("ingest without the model, CPU s", lambda f: f["ingest"]["cpu_s"]),
    ("peak memory of it, MB", lambda f: f["ingest"]["peak_mb"]),
    ("nothing changed, CPU s", lambda f: f["unchanged"]["cpu_s"]),
    ("a section edited, CPU s", lambda f: f["edited"]["cpu_s"]),
    ("the last page deleted, CPU s", lambda f: f["deleted"]["cpu_s"]),
    ("search, CPU ms", lambda f: f["search"]["plain_ms"]),
    ("search in a chapter, CPU ms", lambda f: f["search"]["filtered_ms"]),
    ("process start to the end of 201 searches, s", lambda f: f["search"]["wall_s"]),
    ("peak memory searching, MB", lambda f: f["search"]["peak_mb"]),
    ("of that not given back, MB", lambda f: f["search"]["held_mb"]),
    ("disk, MB", lambda f: f["disk_mb"]),
]


def table(measured: dict[int, dict[str, Any]]) -> str:
    sizes = sorted(measured)
    lines = [
        f"| passages | {' | '.join(f'{size:,}' for size in sizes)} | grows as n to the |",
        f"|---|{'---|' * (len(sizes) + 1)}",
    ]
    for name, figure in ROWS:
        values = [figure(measured[size]) for size in sizes]
        power = log(values[-1] / values[-2]) / log(sizes[-1] / sizes[-2])
        shown = " | ".join(f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in values)
        lines.append(f"| {name} | {shown} | {power:.2f} |")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--sizes", default="1000,10000,50000,100000")
    options.add_argument("--work", type=Path)
    options.add_argument("--child", nargs=3)
    chosen = options.parse_args()
    if chosen.child:
        task, home, folder = chosen.child
        asyncio.run(child(task, Path(home), Path(folder)))
        return
    with tempfile.TemporaryDirectory(dir=chosen.work) as work:
        measured = {int(size): measure(int(size), Path(work)) for size in chosen.sizes.split(",")}
    text = f"""# How it grows

Written by `python benchmarks/growth.py`. {platform.machine()}, {os.cpu_count()} cores, Python
{platform.python_version()}. Processor time, since the machine is shared. Pages of {CHUNKS_OF_PAGE}
passages of {WORDS_OF_SECTION} words, made up; vectors are not embedded but thrown, because the
model's part is the same for every passage. The last column compares the two largest books: 1 is
linear, 0 is no growth.

{table(measured)}
"""
    (Path(__file__).parent / "GROWTH.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
