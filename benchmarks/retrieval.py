"""Compares ways to fuse meaning and words on the shared question sets, the last as it is used.

python benchmarks/retrieval.py --data ../shared/data --work /tmp/retrieval
    [--together .2] [--reach 12] [--read 8]   what pairs of words add, how far apart, in how many
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from bythebook.index.store import all_points, book_filter
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.retrieval import proximity, retriever
from bythebook.retrieval.hybrid import Candidate, WordWeights, dense_search, lexical_search
from bythebook.settings import Settings
from questions import SETS, QuestionSet, hit, load, ndcg, recall


@dataclass(frozen=True)
class Evidence:
    """What speaks for each candidate, and the BM25 score that none can exceed."""

    candidates: list[Candidate]
    ceiling: float


Fusion = Callable[[Evidence], list[float]]


def convex(dense: float) -> Fusion:
    def scores(evidence: Evidence) -> list[float]:
        return [
            dense * c.cosine + (1 - dense) * c.bm25 / max(evidence.ceiling, 1e-9)
            for c in evidence.candidates
        ]

    return scores


def convex_by_best(dense: float) -> Fusion:
    def scores(evidence: Evidence) -> list[float]:
        best = max((c.bm25 for c in evidence.candidates), default=0.0) or 1.0
        return [dense * c.cosine + (1 - dense) * c.bm25 / best for c in evidence.candidates]

    return scores


def reciprocal_ranks(k: int) -> Fusion:
    def ranks(values: list[float]) -> list[int]:
        order = sorted(range(len(values)), key=lambda i: -values[i])
        placed = [0] * len(values)
        for rank, index in enumerate(order):
            placed[index] = rank
        return placed

    def scores(evidence: Evidence) -> list[float]:
        dense = ranks([c.cosine for c in evidence.candidates])
        sparse = ranks([c.bm25 for c in evidence.candidates])
        return [1 / (k + a + 1) + 1 / (k + b + 1) for a, b in zip(dense, sparse, strict=True)]

    return scores


FUSIONS: dict[str, Fusion] = {
    "dense alone": lambda evidence: [c.cosine for c in evidence.candidates],
    "bm25 alone": lambda evidence: [c.bm25 for c in evidence.candidates],
    "rrf k=2": reciprocal_ranks(2),
    "rrf k=60": reciprocal_ranks(60),
    **{f"convex {w}, by best hit": convex_by_best(w) for w in (0.5, 0.6, 0.7)},
    **{f"convex {w}, by ceiling": convex(w) for w in (0.4, 0.45, 0.5, 0.6)},
}


USED = "convex 0.45, by ceiling, and pairs"


async def gather(library: Library, book_id: str, text: str) -> Evidence:
    store, selection = await library.store(), book_filter(book_id)
    book = await library.known.get(book_id)
    words = await lexical_search(store, book, WordWeights(), selection, text[:2000])
    vector = await library.embedder.embed_query(text[:2000])
    return Evidence(await dense_search(store, selection, vector, words), words.ceiling)


def ranked(evidence: Evidence, scores: Sequence[float], passages: dict[str, str]) -> list[str]:
    order = sorted(zip(scores, evidence.candidates, strict=True), key=lambda pair: -pair[0])
    return list(dict.fromkeys(passages[candidate.id] for _, candidate in order))


async def searched(library: Library, one: QuestionSet, text: str) -> list[str]:
    query = SearchQuery(text=text[:2000], book_id=one.name, hardware_tier_filter=4, limit=20)
    found = await library.search(query)
    return list(dict.fromkeys(one.pages[each.metadata.source_file] for each in found.passages))


async def passages_of(library: Library, one: QuestionSet) -> dict[str, str]:
    """The passage of the set that each chunk of its book is from."""
    records = await all_points(await library.store(), book_filter(one.name))
    return {record.id: one.pages[(record.payload or {})["source_file"]] for record in records}


async def measure(library: Library, one: QuestionSet) -> None:
    asked = 0
    passages = await passages_of(library, one)
    names = [*FUSIONS, USED]
    figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    for question in one.questions:
        right = one.right.get(question["_id"])
        if not right:
            continue
        evidence = await gather(library, one.name, question["text"])
        asked += 1
        orders = [ranked(evidence, fusion(evidence), passages) for fusion in FUSIONS.values()]
        orders.append(await searched(library, one, question["text"]))
        for name, order in zip(names, orders, strict=True):
            figures[name].append((ndcg(order, right), recall(order, right), hit(order, right)))
    print(f"\n{one.name}: {asked} questions, {len(one.pages)} passages")
    for name, rows in figures.items():
        n, r, h = (mean(column) for column in zip(*rows, strict=True))
        print(f"  {name:34} ndcg@10 {n:.3f}   recall@5 {r:.3f}   hit@5 {h:.3f}")


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--together", type=float, default=proximity.PROXIMITY_WEIGHT)
    options.add_argument("--reach", type=int, default=proximity.REACH)
    options.add_argument("--read", type=int, default=retriever.CONSIDERED)
    chosen = options.parse_args()
    proximity.PROXIMITY_WEIGHT, proximity.REACH = chosen.together, chosen.reach
    retriever.CONSIDERED = chosen.read
    sets = [
        load(chosen.data, name, chosen.work, every=4 if name == "squad2" else 1) for name in SETS
    ]
    async with await Library.open(Settings(home=chosen.work / "home")) as library:
        for one in sets:
            await library.ingest(one.book, book_id=one.name)
            await measure(library, one)


if __name__ == "__main__":
    asyncio.run(main())
