"""Speed and size, measured in one run: `make bench` writes benchmarks/ALONE.md.

    python benchmarks/run.py --data ../shared/data --work /tmp/bench [--only ingest,mdn,search]

Figures that depend on the machine are given as ratios where they can be.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import random
import resource
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import numpy as np

from bythebook.index.edge import EdgeStore
from bythebook.ingestion.pages import make_point
from bythebook.ingestion.plan import make_plan
from bythebook.library import Library
from bythebook.models.chunk import DocumentChunk, chunk_id, now
from bythebook.models.job import IngestionRecord, IngestionState
from bythebook.models.search_messages import SearchQuery
from bythebook.reading.document import PLAIN
from bythebook.reading.layout import find_book
from bythebook.settings import Settings

SIZES = (1_000, 10_000, 50_000)
QUESTIONS = 200
ROUNDS = 5
MAX_BYTES = 5_000_000


class Report:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, what: str, figure: str) -> None:
        print(f"{what}: {figure}", flush=True)
        self.lines.append(f"| {what} | {figure} |")


def unpack(data: Path, name: str, work: Path) -> Path:
    target = work / name
    if not target.exists():
        with tarfile.open(data / "books" / f"{name}.tar.xz") as archive:
            archive.extractall(target, filter="data")
    return target


def chunks_of(book_folder: Path, book_id: str) -> list[DocumentChunk]:
    book = find_book(book_folder, book_id)
    empty = IngestionState(book_id=book_id, collection_name="none")
    plan = make_plan(book, empty, "full", MAX_BYTES)
    pages = (
        PLAIN.read(book, file, plan.placements[file], MAX_BYTES).document for file in plan.process
    )
    return [chunk for page in pages for chunk in page.chunks]


async def ingest_rate(data: Path, work: Path, report: Report) -> None:
    """The whole pipeline against the embedder alone on the same texts, turn by turn."""
    docs = unpack(data, "docusaurus-docs", work)
    texts = [chunk.embedded_text for chunk in chunks_of(docs, "docs")]
    raw: list[float] = []
    whole: list[float] = []
    for _ in range(ROUNDS):
        home = work / "rate-home"
        shutil.rmtree(home, ignore_errors=True)
        async with await Library.open(Settings(home=home)) as library:
            await library.store()
            await library.embedder.embed_documents(texts[:8])
            started = time.perf_counter()
            await library.embedder.embed_documents(texts)
            raw.append(time.perf_counter() - started)
            started = time.perf_counter()
            await library.ingest(docs, book_id="docs")
            whole.append(time.perf_counter() - started)
    ratios = [alone / both for alone, both in zip(raw, whole, strict=True)]
    report.add("Docusaurus docs, passages", str(len(texts)))
    report.add("embedder alone, passages/s, median", f"{len(texts) / median(raw):.1f}")
    report.add("ingest, passages/s, median", f"{len(texts) / median(whole):.1f}")
    report.add(
        f"ingest ÷ embedder alone, median of {ROUNDS} (from – to)",
        f"{median(ratios):.2f} ({min(ratios):.2f} – {max(ratios):.2f})",
    )


def timed_command(home: Path, *arguments: str) -> float:
    command = [str(Path(sys.executable).parent / "bythebook"), *arguments]
    environment = {**os.environ, "BYTHEBOOK_HOME": str(home)}
    started = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


async def mdn(data: Path, work: Path, report: Report) -> None:
    """1,666 files: nothing changed, one section edited, one file deleted."""
    book, home = unpack(data, "mdn-javascript", work), work / "mdn-home"
    if not home.exists():
        seconds = timed_command(home, "ingest", str(book), "--book", "mdn")
        report.add("MDN, first ingest, s", f"{seconds:.0f}")
    nothing = sorted(timed_command(home, "ingest", str(book), "--book", "mdn") for _ in range(5))
    report.add("MDN, nothing changed, whole process, s (median of 5)", f"{nothing[2]:.2f}")
    page = next(book.rglob("array/map/index.md"))
    original = page.read_text(encoding="utf-8")
    page.write_text(original.replace("## Description", "## Description\n\nEdited.", 1))
    edited = timed_command(home, "ingest", str(book), "--book", "mdn")
    page.write_text(original)
    timed_command(home, "ingest", str(book), "--book", "mdn")
    report.add("MDN, one section edited, whole process, s", f"{edited:.2f}")
    starts = sorted(
        timed_command(home, "search", "How do I sort an array?", "--json") for _ in range(5)
    )
    report.add("cold start to search result, MDN, s (median of 5)", f"{starts[2]:.2f}")


async def search_latency(data: Path, work: Path, report: Report) -> None:
    """Real passages' words, random directions for vectors: the work is the same. The vector of a
    question that was asked just before is remembered."""
    real = chunks_of(unpack(data, "mdn-javascript", work), "bench")
    sampled = random.Random(1).sample(real, QUESTIONS)
    questions = [
        f"How does {chunk.metadata.title} {chunk.metadata.heading_path[-1]} work?"[:200]
        for chunk in sampled
    ]
    for size in SIZES:
        home = work / f"search-{size}"
        shutil.rmtree(home, ignore_errors=True)
        async with await Library.open(Settings(home=home)) as library:
            await fill(library, real, size)
            await library.embedder.embed_query("warm up")
            plain: list[float] = []
            filtered: list[float] = []
            for text in questions:
                for times, fields in ((plain, {}), (filtered, {"chapter_min": 1})):
                    query = SearchQuery(
                        text=text,
                        book_id="bench",
                        hardware_tier_filter=4,
                        **fields,  # type: ignore[arg-type]
                    )
                    started = time.perf_counter()
                    await library.search(query)
                    times.append(time.perf_counter() - started)
        for name, times in (("search", plain), ("the same once more, filtered", filtered)):
            p50, p95 = np.percentile(times, [50, 95]) * 1000
            report.add(f"{name}, {size:,} passages, p50 / p95 ms", f"{p50:.1f} / {p95:.1f}")
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        report.add(f"peak memory of this process by then, {size:,} passages, MB", f"{memory:.0f}")
        opened = time.perf_counter()
        store = EdgeStore(home / "index" / "textbook_chunks")
        await store.open(384)
        report.add(
            f"opening the index, {size:,} passages, s", f"{time.perf_counter() - opened:.2f}"
        )
        await store.close()


async def fill(library: Library, real: list[DocumentChunk], size: int) -> None:
    generator = np.random.default_rng(size)
    store = await library.store()
    values = {
        "title": "Bench", "language": "en", "base_url": "", "source": "",
        "collection_name": library.settings.collection, "chunker_version": 1,
        "embedding_model": library.embedder.name, "dimension": library.embedder.dimension,
    }  # fmt: skip
    await library.catalog.save_book("bench", values)
    await library.catalog.save_files(
        [
            IngestionRecord(
                source_file="all", file_hash="", chunk_ids=[], chunk_count=size, ingested_at=now(),
                book_id="bench", module="m", chapter=0, lesson=0, parent_doc_id="", url="",
                chunker_version=1,
            )
        ]
    )  # fmt: skip
    for start in range(0, size, 500):
        points = []
        for number in range(start, min(start + 500, size)):
            chunk = real[number % len(real)].model_copy(deep=True)
            chunk.id = chunk_id("bench", f"{number:064x}"[::-1])
            chunk.metadata.content_hash = f"{number:064x}"
            vector = generator.standard_normal(384)
            vector /= np.linalg.norm(vector)
            points.append(
                make_point(
                    chunk, vector.tolist(), model=library.embedder.name, language="en",
                    previous=None, written_at=now(),
                )
            )  # fmt: skip
        await store.replace(points, [], durable=False)
    await store.optimize()


PARTS: dict[str, Callable[[Path, Path, Report], Awaitable[None]]] = {
    "ingest": ingest_rate,
    "mdn": mdn,
    "search": search_latency,
}


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--work", type=Path, default=Path("/tmp/bythebook-bench"))
    options.add_argument("--only", default=",".join(PARTS))
    chosen = options.parse_args()
    if not chosen.data.exists():
        sys.exit(f"There are no books in {chosen.data}; give their folder with --data.")
    chosen.work.mkdir(parents=True, exist_ok=True)
    report = Report()
    for part in chosen.only.split(","):
        await PARTS[part](chosen.data, chosen.work, report)
    table = "\n".join(report.lines)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    head = f"# bythebook alone\n\n`make bench` on {machine}.\n\n| what | figure |\n|---|---|"
    if chosen.only == ",".join(PARTS):
        (Path(__file__).parent / "ALONE.md").write_text(f"{head}\n{table}\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
