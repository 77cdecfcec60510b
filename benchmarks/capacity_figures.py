"""What a chunk takes: disk, memory and processor time, embedded and on a Qdrant server.

    nice python benchmarks/capacity_figures.py [--sizes 1000,10000,50000] [--only server]

writes benchmarks/data/capacity.json, from which capacity.py computes docs/engineering/capacity.md.
Words are those of real passages, vectors are random directions: the work is the same. Processor
time is measured, not the clock's, so that what else the machine does counts less. Every size is
opened in a process of its own, and its memory is read there after the searches.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import httpx  # noqa: E402
from qdrant_client import QdrantClient, models  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

from bythebook.embedding.embedder import MiniLM  # noqa: E402
from bythebook.embedding.onnx_model import FOLDER  # noqa: E402
from bythebook.library import Library  # noqa: E402
from bythebook.models.chunk import DocumentChunk  # noqa: E402
from bythebook.models.search_messages import SearchQuery  # noqa: E402
from bythebook.settings import Settings  # noqa: E402
from rounding import rounded  # noqa: E402
from run import chunks_of, fill, unpack  # noqa: E402
from shared_server import free_port  # noqa: E402

FIGURES = Path(__file__).parent / "data" / "capacity.json"
SEARCHES = 150
EMBEDDED_TEXTS = 150
COLLECTION = "textbook_chunks"
QDRANT = ROOT / ".tools" / "qdrant"
TICKS = os.sysconf("SC_CLK_TCK")
Figures = dict[str, Any]

# How the server is told to keep the same collection; "as made" is what bythebook itself sets up.
LAYOUTS: dict[str, dict[str, Any]] = {
    "as made": {},
    "int8, vectors on disk": {
        "quantization_config": models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        ),
    },
    "binary, vectors and graph on disk": {
        "quantization_config": models.BinaryQuantization(
            binary=models.BinaryQuantizationConfig(always_ram=True)
        ),
        "hnsw_config": models.HnswConfigDiff(on_disk=True),
        "sparse_vectors_config": {
            "bm25": models.SparseVectorParams(
                index=models.SparseIndexParams(on_disk=True), modifier=models.Modifier.IDF
            )
        },
    },
}


def memory_of(process: int | str) -> dict[str, float]:
    """MB that are the process's own, and MB of files that lie in memory for it."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    rows = dict(line.split(":", 1) for line in status.splitlines())
    own, files, shared = (
        int(rows[row].split()[0]) / 1024 for row in ("RssAnon", "RssFile", "RssShmem")
    )
    # Mapped files of a folder that lies in memory count as shared.
    return {"own_mb": own, "files_mb": files + shared}


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def disk_mb(folder: Path) -> float:
    """Blocks that are taken, which is less than the length of files with holes."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file()) / 2**20


def questions_about(chunks: list[DocumentChunk]) -> list[str]:
    return [
        f"How does {chunk.metadata.title} {chunk.metadata.heading_path[-1]} work?"[:200]
        for chunk in random.Random(1).sample(chunks, SEARCHES)
    ]


async def searched(settings: Settings, questions: list[str], server: int | None) -> Figures:
    """Open what is there and search it; this process has done nothing else."""
    async with await Library.open(settings) as library:
        await library.embedder.embed_query("warm up")
        without = memory_of("self")
        opened = time.perf_counter()
        await library.store()
        opening = time.perf_counter() - opened
        for question in questions[:10]:
            await library.search(SearchQuery(text=question, book_id="bench"))
        before = (time.process_time(), cpu_seconds(server) if server else 0.0, time.perf_counter())
        for question in questions:
            await library.search(SearchQuery(text=question, book_id="bench"))
        after = (time.process_time(), cpu_seconds(server) if server else 0.0, time.perf_counter())
        own, theirs, clock = (
            1000 * (b - a) / len(questions) for a, b in zip(before, after, strict=True)
        )
        return {
            "opening_s": opening,
            "service_cpu_ms_a_search": own,
            "server_cpu_ms_a_search": theirs,
            "clock_ms_a_search": clock,
            "service_without_index": without,
            "service": memory_of("self"),
        }


def searched_apart(home: Path, url: str | None, server: int | None, texts: Path) -> Figures:
    command = [sys.executable, __file__, "--search", str(home), "--texts", str(texts)]
    command += ["--url", url or "", "--server", str(server or 0)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: Figures = json.loads(done.stdout)
    return found


async def embedding_rate(real: list[DocumentChunk]) -> Figures:
    """Passages a second of one core, and how long they are."""
    texts = [chunk.embedded_text for chunk in random.Random(2).sample(real, EMBEDDED_TEXTS)]
    embedder = MiniLM(threads=1)
    await embedder.embed_documents(texts[:8])
    started = time.process_time()
    await embedder.embed_documents(texts)
    seconds = time.process_time() - started
    await embedder.close()
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.no_truncation()
    pieces = sum(len(tokenizer.encode(text).ids) for text in texts) / len(texts)
    words = sum(len(text.split()) for text in texts) / len(texts)
    return {
        "chunks_per_cpu_second": len(texts) / seconds,
        "words_a_chunk": words,
        "word_pieces_a_chunk": pieces,
    }


async def embedded(
    real: list[DocumentChunk], sizes: list[int], work: Path, texts: Path
) -> list[Figures]:
    found = []
    for size in sizes:
        home = work / f"embedded-{size}"
        async with await Library.open(Settings(home=home)) as library:
            await fill(library, real, size)
        disk = disk_mb(home)
        found.append({"chunks": size, "disk_mb": disk, **searched_apart(home, None, None, texts)})
        print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    return found


@contextmanager
def running_qdrant(folder: Path) -> Iterator[tuple[str, int]]:
    """A server on what lies in the folder; a second one finds what the first has left."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "QDRANT__SERVICE__HOST": "127.0.0.1",
        "QDRANT__SERVICE__HTTP_PORT": str(port),
        "QDRANT__SERVICE__GRPC_PORT": str(free_port()),
        "QDRANT__STORAGE__STORAGE_PATH": str(folder / "storage"),
        "QDRANT__STORAGE__SNAPSHOTS_PATH": str(folder / "snapshots"),
        "QDRANT__TELEMETRY_DISABLED": "true",
    }
    with (folder / "qdrant.log").open("a") as log:
        process = subprocess.Popen([QDRANT], cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(600):
            time.sleep(0.2)
            try:
                if httpx.get(f"{url}/readyz", timeout=5).is_success:
                    break
            except httpx.TransportError:
                continue
        yield url, process.pid
    finally:
        process.terminate()
        process.wait()


def settle(client: QdrantClient, longest: float = 900.0) -> None:
    """Wait until the server has built its index."""
    end = time.monotonic() + longest
    while time.monotonic() < end:
        time.sleep(2)
        info = client.get_collection(COLLECTION)
        if str(info.status.value) == "green" and info.points_count:
            return
    sys.exit(f"The server was still building after {longest:.0f} s.")


async def server(
    real: list[DocumentChunk], sizes: list[int], work: Path, texts: Path
) -> list[Figures]:
    found = []
    for size in sizes:
        folder = work / f"server-{size}"
        folder.mkdir()
        home = folder / "home"
        with running_qdrant(folder) as (url, process):
            empty = memory_of(process)
            async with await Library.open(Settings(home=home, qdrant_url=url)) as library:
                await fill(library, real, size)
            # A server that is started anew builds nothing until something changes.
            with closing(connected(url)) as client:
                settle(client)
        for name, layout in LAYOUTS.items():
            # The server leaves small segments as they are, so that a small collection says nothing.
            if layout and size < max(sizes):
                continue
            with running_qdrant(folder) as (url, _), closing(connected(url)) as client:
                if layout:
                    client.update_collection(
                        COLLECTION,
                        vectors_config={"dense": models.VectorParamsDiff(on_disk=True)},
                        **layout,
                    )
                    settle(client)
                indexed = client.get_collection(COLLECTION).indexed_vectors_count
            # Started anew, so that what building took does not count as what holding takes.
            with running_qdrant(folder) as (url, process):
                found.append(
                    {
                        "chunks": size,
                        "layout": name,
                        "indexed": indexed,
                        "disk_mb": disk_mb(folder / "storage"),
                        "server_empty": empty,
                        **searched_apart(home, url, process, texts),
                        "server": memory_of(process),
                    }
                )
            print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    return found


def connected(url: str) -> QdrantClient:
    return QdrantClient(url, timeout=120, check_compatibility=False)


def machine() -> str:
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return f"{model}, {os.cpu_count()} cores, Linux, Python {platform.python_version()}"


async def measure(chosen: argparse.Namespace) -> None:
    sizes = [int(size) for size in chosen.sizes.split(",")]
    parts = chosen.only.split(",")
    before = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    with tempfile.TemporaryDirectory(dir=chosen.work) as folder:
        work = Path(folder)
        real = chunks_of(unpack(chosen.data, "mdn-javascript", work), "bench")
        texts = work / "questions.json"
        texts.write_text(json.dumps(questions_about(real)), encoding="utf-8")
        measures: dict[str, Callable[[], Awaitable[Any]]] = {
            "embedding": lambda: embedding_rate(real),
            "embedded": lambda: embedded(real, sizes, work, texts),
            "server": lambda: server(real, sizes, work, texts),
        }
        for part in parts:
            load = os.getloadavg()[0]
            before[part] = await measures[part]()
            loads = [round(load, 1), round(os.getloadavg()[0], 1)]
            before.setdefault("load_before_and_after", {})[part] = loads
    before["machine"] = machine()
    before["measured"] = time.strftime("%Y-%m-%d")
    FIGURES.write_text(json.dumps(rounded(before, 2), indent=1) + "\n", encoding="utf-8")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    options.add_argument("--sizes", default="1000,10000,50000")
    options.add_argument("--only", default="embedding,embedded,server")
    options.add_argument("--search", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--texts", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--url", default="", help=argparse.SUPPRESS)
    options.add_argument("--server", type=int, default=0, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.search:
        settings = Settings(home=chosen.search, qdrant_url=chosen.url or None)
        texts = json.loads(chosen.texts.read_text(encoding="utf-8"))
        print(json.dumps(asyncio.run(searched(settings, texts, chosen.server or None))))
        return
    if not chosen.data.exists():
        sys.exit(f"There are no books in {chosen.data}; give their folder with --data.")
    asyncio.run(measure(chosen))


if __name__ == "__main__":
    main()
