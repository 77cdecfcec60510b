"""How alike questions must be to count as one gap, and how long grouping takes.

    python benchmarks/gaps.py [--among FILE.jsonl.gz] [--many 10000]

The likeness is chosen on one half of `data/same_questions.txt` and judged on the other: of the
pairs that are put together, how many belong together, and the other way round. `--among` mixes in
questions of a shared set (their field `text`), each of which is a question of its own, so that
there is more to be confused with. `--many` measures time and memory with so many different ones.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import resource
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from bythebook.embedding.embedder import MiniLM
from bythebook.gaps import grouped

SAME = Path(__file__).parent / "data" / "same_questions.txt"
LIKENESSES = [hundredths / 100 for hundredths in range(50, 96, 5)]


@dataclass(frozen=True)
class Judged:
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def __str__(self) -> str:
        return f"{self.precision:9.2f} {self.recall:6.2f} {self.f1:5.2f}"


def meanings() -> list[list[str]]:
    text = SAME.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    blocks = "\n".join(lines).strip().split("\n\n")
    return [block.splitlines() for block in blocks]


def judge(groups: list[list[int]], meaning: list[int]) -> Judged:
    put = {pair for group in groups for pair in combinations(sorted(group), 2)}
    right = {(a, b) for a, b in combinations(range(len(meaning)), 2) if meaning[a] == meaning[b]}
    both = len(put & right)
    return Judged(both / len(put) if put else 1.0, both / len(right))


async def measure(embedder: MiniLM, half: list[list[str]], among: list[str]) -> dict[float, Judged]:
    asked = sorted(
        [(text, number) for number, same in enumerate(half) for text in same]
        + [(text, -number) for number, text in enumerate(among, 1)]
    )
    rows = await embedder.embed_documents([text for text, _ in asked])
    vectors = np.array(rows, np.float32)
    meaning = [number for _, number in asked]
    return {
        alike: judge(grouped(vectors, [1] * len(asked), alike), meaning) for alike in LIKENESSES
    }


def questions_in(file: Path) -> list[str]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        read: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return sorted({line["text"].strip() for line in read})


async def many(embedder: MiniLM, count: int) -> None:
    """Two of the wordings, one after the other, so that most are like few others."""
    texts = [text for same in meanings() for text in same]
    pairs = [f"{one} {other}" for one in texts for other in texts if one != other]
    made = sorted(random.Random(1).sample(pairs, count))
    started = time.perf_counter()
    vectors = np.array(await embedder.embed_documents(made), np.float32)
    embedded = time.perf_counter()
    groups = grouped(vectors, [1] * count)
    ended = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{count:,} different questions: {embedded - started:.1f} s to embed, "
        f"{ended - embedded:.1f} s to group ({len(groups):,} groups), peak {peak} MB"
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--among", type=Path)
    parser.add_argument("--many", type=int, default=0)
    given = parser.parse_args()
    among = questions_in(given.among)[:1000] if given.among else []
    embedder = MiniLM()
    every = meanings()
    choosing = await measure(embedder, every[::2], among)
    judging = await measure(embedder, every[1::2], among)
    print(f"{len(every)} meanings, {sum(map(len, every))} wordings, {len(among)} others")
    print("           chosen on             judged on")
    print("alike  precision recall    F1  precision recall    F1")
    for alike in LIKENESSES:
        print(f"{alike:5.2f}  {choosing[alike]}  {judging[alike]}")
    if given.many:
        await many(embedder, given.many)
    await embedder.close()


if __name__ == "__main__":
    asyncio.run(main())
