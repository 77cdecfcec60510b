"""Compares ways to fuse meaning and words on the shared question sets, and fits the calibration.

python benchmarks/retrieval.py --data ../shared/data --work /tmp/retrieval [--fit]
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

import numpy as np

from bythebook.ingestion.points import all_points, book_filter
from bythebook.library import Library
from bythebook.models.search import SearchQuery
from bythebook.retrieval.calibration import calibration_for
from bythebook.retrieval.fusion import Candidate
from bythebook.retrieval.search import Evidence, Searcher
from bythebook.settings import Settings
from questions import SETS, QuestionSet, hit, load, ndcg, recall

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
    **{f"convex {w}, by ceiling": convex(w) for w in (0.4, 0.5, 0.6)},
}


async def gather(library: Library, book_id: str, text: str) -> Evidence:
    searcher = Searcher(await library.store(), library.embedder, library.catalog)
    query = SearchQuery(text=text[:2000], book_id=book_id, hardware_tier_filter=4)
    vector = await library.embedder.embed_query(query.text)
    book = await library.catalog.book(book_id)
    return await searcher.gather(book, await searcher._selection(query), vector, query.text)


def ranked(evidence: Evidence, scores: Sequence[float], passages: dict[str, str]) -> list[str]:
    order = sorted(zip(scores, evidence.candidates, strict=True), key=lambda pair: -pair[0])
    return list(dict.fromkeys(passages[candidate.id] for _, candidate in order))


async def passages_of(library: Library, one: QuestionSet) -> dict[str, str]:
    """The passage of the set that each chunk of its book is from."""
    records = await all_points(await library.store(), book_filter(one.name))
    return {record.id: one.pages[(record.payload or {})["source_file"]] for record in records}


async def measure(
    library: Library, one: QuestionSet
) -> list[tuple[dict[str, int], Evidence, dict[str, str]]]:
    gathered = []
    passages = await passages_of(library, one)
    figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in FUSIONS}
    for question in one.questions:
        right = one.right.get(question["_id"])
        if not right:
            continue
        evidence = await gather(library, one.name, question["text"])
        gathered.append((right, evidence, passages))
        for name, fusion in FUSIONS.items():
            order = ranked(evidence, fusion(evidence), passages)
            figures[name].append((ndcg(order, right), recall(order, right), hit(order, right)))
    print(f"\n{one.name}: {len(gathered)} questions, {len(one.pages)} passages")
    for name, rows in figures.items():
        n, r, h = (mean(column) for column in zip(*rows, strict=True))
        print(f"  {name:26} ndcg@10 {n:.3f}   recall@5 {r:.3f}   hit@5 {h:.3f}")
    return gathered


def logistic_fit(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Slope and middle by Newton's method."""
    features = np.stack([x, np.ones_like(x)], axis=1)
    theta = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-features @ theta))
        gradient = features.T @ (weight * (y - p))
        hessian = (features * (weight * p * (1 - p))[:, None]).T @ features + 1e-6 * np.eye(2)
        theta += np.linalg.solve(hessian, gradient)
    return float(theta[0]), float(-theta[1] / theta[0])


async def fit(
    library: Library,
    sets: list[QuestionSet],
    gathered: dict[str, list[tuple[dict[str, int], Evidence, dict[str, str]]]],
) -> None:
    """Right passages against the best ones found for questions of other books."""
    calibration = calibration_for(library.embedder.name)

    def strength(candidate: Candidate, evidence: Evidence) -> float:
        words = candidate.bm25 / max(evidence.ceiling, 1e-9)
        return calibration.evidence(candidate.cosine, words)

    right: list[float] = []
    wrong: list[float] = []
    for one in sets:
        for answers, evidence, passages in gathered[one.name]:
            found = [c for c in evidence.candidates if passages[c.id] in answers]
            right += [strength(candidate, evidence) for candidate in found]
        others = [other for other in sets if other is not one]
        for other in others:
            for question in other.questions[:: max(1, len(other.questions) // 60)]:
                evidence = await gather(library, one.name, question["text"])
                wrong += sorted(strength(c, evidence) for c in evidence.candidates)[-5:]
    x = np.array([*right, *wrong])
    y = np.array([1.0] * len(right) + [0.0] * len(wrong))
    weight = np.where(y == 1, 0.5 / len(right), 0.5 / len(wrong)) * len(x)
    slope, middle = logistic_fit(x, y, weight)
    p = 1 / (1 + np.exp(-slope * (x - middle)))
    print(f"\n{len(right)} right and {len(wrong)} off-topic passages")
    print(json.dumps({"slope": round(slope, 2), "middle": round(middle, 4)}))
    for threshold in (0.3, 0.5, 0.7, 0.9):
        print(
            f"  score ≥ {threshold}: {np.mean(p[y == 1] >= threshold):.3f} of the right, "
            f"{np.mean(p[y == 0] >= threshold):.4f} of the off-topic"
        )


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--fit", action="store_true")
    chosen = options.parse_args()
    sets = [
        load(chosen.data, name, chosen.work, every=4 if name == "squad2" else 1) for name in SETS
    ]
    async with await Library.open(Settings(home=chosen.work / "home")) as library:
        gathered = {}
        for one in sets:
            await library.ingest(one.book, book_id=one.name)
            gathered[one.name] = await measure(library, one)
        if chosen.fit:
            await fit(library, sets, gathered)


if __name__ == "__main__":
    asyncio.run(main())
