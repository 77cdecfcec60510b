"""How long the reader takes, beside the embedder for the same number of word pieces.

    python benchmarks/reading.py

Reads check questions of training/data/ against five passages cut to 300 word pieces: the one that
answers, in three of eight cases first, and four others of the check books. Prints Markdown:
seconds until it is sure, seconds for one sentence against one passage, and what the reader adds to
the memory of the process. Run it on an idle machine.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import resource
import statistics
import time
from pathlib import Path
from typing import Any

from bythebook.embedding.embedder import Model
from bythebook.embedding.onnx_model import FOLDER
from bythebook.reader import Reader
from bythebook.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS, PASSAGES, PIECES = 60, 5, 300


def rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(ROOT / "training" / "data" / f"{name}-check.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def memory() -> float:
    """MB that the process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def quantiles(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return f"{statistics.median(ordered):.3f} | {ordered[int(len(ordered) * 0.95)]:.3f}"


async def main() -> None:
    pick = random.Random(3)
    embedder = Model(FOLDER)
    tokenizer, _ = embedder.load()

    def cut(text: str) -> str:
        offsets = tokenizer.encode(text, add_special_tokens=False).offsets
        return text if len(offsets) <= PIECES else text[: offsets[PIECES - 1][1]]

    questions = rows("questions")
    others = list(dict.fromkeys(cut(row["passages"][0]["text"]) for row in questions))
    asked = pick.sample([row for row in questions if row["label"] == 1], QUESTIONS)
    sentences = pick.sample(rows("sentences"), QUESTIONS)
    before = memory()
    async with Reader.open(Settings()) as reader:
        await reader.read("Is it loaded?", "Yes.")
        loaded = memory() - before
        seconds, read = [], []
        for row in asked:
            passages = [cut(row["passages"][0]["text"]), *pick.sample(others, PASSAGES - 1)]
            # Where search puts the right one: mostly first.
            place = pick.choice((0, 0, 0, 1, 1, 2, 3, 4))
            passages[0], passages[place] = passages[place], passages[0]
            began = time.perf_counter()
            read.append(len(await reader.read_all(row["question"], passages)))
            seconds.append(time.perf_counter() - began)
        checks, embedded = [], []
        for row in sentences:
            passage = cut(row["passages"][0]["text"])
            began = time.perf_counter()
            await reader.supports(row["sentence"], passage)
            checks.append(time.perf_counter() - began)
            began = time.perf_counter()
            embedder.vector(f"{row['sentence']} {passage}")
            embedded.append(time.perf_counter() - began)
        held = memory() - before
    print("| | median | p95 |\n|---|---|---|")
    average = f"read on average {statistics.mean(read):.1f}"
    print(f"| five passages until sure, s ({average}) | {quantiles(seconds)} |")
    print(f"| one sentence against one passage, s | {quantiles(checks)} |")
    print(f"| the embedder, same words, s | {quantiles(embedded)} |")
    ratio = statistics.median(checks) / statistics.median(embedded)
    print(f"\nReader ÷ embedder for the same words: {ratio:.2f}.")
    print(f"Memory: {loaded:.0f} MB when loaded, {held:.0f} MB after reading.")


if __name__ == "__main__":
    asyncio.run(main())
