"""How well and how fast the built-in embedder finds passages.

    python scripts/make_minilm.py --check --keep-float float.onnx --keep-masked masked.onnx
    python benchmarks/embedding.py --data DATA --float float.onnx --masked masked.onnx

DATA holds BEIR-style folders (corpus.jsonl.gz, queries.jsonl.gz, qrels.tsv). Printed: nDCG@10 of
dense search for each way to treat a text that is longer than the model's 256 word pieces, for the
weights in the package and for the float ones; then speed, one text a call against padded batches.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from tokenizers import Tokenizer

from bythebook.embedding.embedder import END, START, WINDOW, MiniLM
from bythebook.embedding.onnx_model import checked_file, even_windows

SETS = ("anthropic_docs", "mtrag_un", "clapnq_dev", "squad2")
JOINED = ("squad2", "mtrag_un")
LONGEST_CHUNK = 394
THREADS = 2

Pieces = Sequence[int]
Array = NDArray[np.float32]


@dataclass(frozen=True)
class Collection:
    name: str
    texts: dict[str, str]
    queries: dict[str, str]
    relevant: dict[str, set[str]]


def lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read(folder: Path, words: int) -> Collection:
    """`words` > 0 joins neighbours of one title up to that length, as long as chunks may be."""
    texts: dict[str, str] = {}
    place: dict[str, str] = {}
    joined, title, length = "", None, 0
    for row in lines(folder / "corpus.jsonl.gz"):
        size = len(row["text"].split())
        same = joined and (row["title"], row.get("collection")) == title
        if same and length + size <= words:
            texts[joined] += "\n" + row["text"]
            length += size
        else:
            joined, title, length = row["_id"], (row["title"], row.get("collection")), size
            texts[joined] = f"{row['title']}\n{row['text']}"
        place[row["_id"]] = joined
    queries = {row["_id"]: row["text"] for row in lines(folder / "queries.jsonl.gz")}
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, passage, score = line.split("\t")
        if int(score) > 0 and query in queries:
            relevant.setdefault(query, set()).add(place[passage])
    name = f"{folder.name}, joined to {words} words" if words else folder.name
    return Collection(name, texts, {key: queries[key] for key in relevant}, relevant)


def full_windows(pieces: Pieces, overlap: int) -> list[Pieces]:
    step = WINDOW - overlap
    starts = range(0, max(1, len(pieces) - overlap), step)
    return [pieces[start : start + WINDOW] for start in starts]


WAYS: dict[str, Callable[[Pieces], list[Pieces]]] = {
    "cut at 256": lambda pieces: [pieces[:WINDOW]],
    "cut at 512": lambda pieces: [pieces[:510]],
    "windows overlapping 64": lambda pieces: full_windows(pieces, 64),
    "even windows": lambda pieces: even_windows(pieces, WINDOW),
    "even windows of 512": lambda pieces: even_windows(pieces, 510),
}


class Model:
    """One set of weights; vectors of windows are computed once however often they are used."""

    def __init__(self, weights: bytes) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self.session = onnxruntime.InferenceSession(
            weights, options, providers=["CPUExecutionProvider"]
        )
        self.known: dict[tuple[int, ...], Array] = {}

    def one(self, window: Pieces) -> Array:
        ids = np.array([[START, *window, END]], np.int64)
        vector: Array = self.session.run(None, {"input_ids": ids})[0][0]
        return vector

    def vectors(self, texts: list[list[Pieces]]) -> Array:
        missing = {tuple(w) for windows in texts for w in windows} - self.known.keys()
        with ThreadPoolExecutor(THREADS) as pool:
            self.known.update(zip(missing, pool.map(self.one, missing), strict=True))
        rows = [sum(self.known[tuple(w)] * (len(w) + 2) for w in windows) for windows in texts]
        return np.array([row / np.linalg.norm(row) for row in rows], np.float32)


def ndcg(collection: Collection, queries: Array, passages: Array) -> float:
    names = list(collection.texts)
    total = 0.0
    for key, scores in zip(collection.queries, queries @ passages.T, strict=True):
        right = collection.relevant[key]
        best = np.argsort(-scores, kind="stable")[:10]
        gain = sum(1 / math.log2(i + 2) for i, j in enumerate(best) if names[j] in right)
        total += gain / sum(1 / math.log2(i + 2) for i in range(min(10, len(right))))
    return 100 * total / len(collection.queries)


def compare_ways(
    data: Path, models: dict[str, Model], tokenizer: Tokenizer, ways: list[str]
) -> None:
    def pieces(texts: dict[str, str]) -> list[Pieces]:
        encoded = tokenizer.encode_batch(list(texts.values()), add_special_tokens=False)
        return [entry.ids for entry in encoded]

    for words, names in ((0, SETS), (LONGEST_CHUNK, JOINED)):
        for name in names:
            collection = read(data / name, words)
            passages = pieces(collection.texts)
            long = sum(len(p) > WINDOW for p in passages) / len(passages)
            print(f"\n{collection.name}: {len(passages)} passages, {long:.0%} longer than a window")
            for weights, model in models.items():
                queries = model.vectors([[p[:510]] for p in pieces(collection.queries)])
                for way in ways:
                    found = model.vectors([WAYS[way](p) for p in passages])
                    print(f"  {weights:6} {way:22} {ndcg(collection, queries, found):6.2f}")


def compare_speed(data: Path, masked: Path | None, tokenizer: Tokenizer) -> None:
    texts = [text for name in SETS for text in list(read(data / name, 0).texts.values())[:100]]
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    windows = [[START, *e.ids[:WINDOW], END] for e in encoded]
    package = Model(checked_file("model.onnx").read_bytes()).session
    spent: dict[str, list[float]] = {}

    def measure(name: str, run: Callable[[list[list[int]]], object], batches: Any) -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            start = time.process_time()
            list(pool.map(run, batches))
            spent.setdefault(name, []).append(time.process_time() - start)

    def alone(batch: list[list[int]]) -> None:
        package.run(None, {"input_ids": np.array(batch, np.int64)})

    padding = Model(masked.read_bytes()).session if masked else None

    def padded(batch: list[list[int]]) -> None:
        assert padding is not None
        ids = np.zeros((len(batch), max(map(len, batch))), np.int64)
        for row, window in zip(ids, batch, strict=True):
            row[: len(window)] = window
        padding.run(None, {"input_ids": ids, "mask": (ids != 0).astype(np.int64)})

    ordered = sorted(windows, key=len)
    for _ in range(3):
        measure("one text a call", alone, [[w] for w in windows])
        for size in (8, 32) if padding else ():
            groups = [ordered[i : i + size] for i in range(0, len(ordered), size)]
            measure(f"padded batches of {size}", padded, groups)
    print(f"\n{len(windows)} texts of {np.mean([len(w) for w in windows]):.0f} word pieces")
    for name, seconds in spent.items():
        print(f"  {name:22} {1000 * min(seconds) / len(windows):6.1f} ms of one core a text")

    async def whole() -> None:
        embedder = MiniLM(threads=THREADS)
        start = time.perf_counter()
        await embedder.embed_query("How is a sidebar configured?")
        print(f"  first query, loading included: {1000 * (time.perf_counter() - start):.0f} ms")
        waits = []
        for _ in range(50):
            start = time.perf_counter()
            await embedder.embed_query("How is the sidebar of a site configured?")
            waits.append(time.perf_counter() - start)
        print(f"  query: median {1000 * median(waits):.1f} ms")
        start = time.perf_counter()
        await embedder.embed_documents(texts)
        print(
            f"  documents: {len(texts) / (time.perf_counter() - start):.0f} a second, whole texts"
        )
        await embedder.close()

    asyncio.run(whole())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the retrieval sets")
    parser.add_argument("--float", type=Path, help="fp32 weights to compare with")
    parser.add_argument("--masked", type=Path, help="int8 weights that take padded batches")
    parser.add_argument("--ways", default=",".join(WAYS), help="comma-separated; empty: speed only")
    arguments = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(checked_file("tokenizer.json")))
    models = {"int8": Model(checked_file("model.onnx").read_bytes())}
    if arguments.float:
        models["float"] = Model(arguments.float.read_bytes())
    ways = [way.strip() for way in arguments.ways.split(",") if way.strip()]
    if any(way not in WAYS for way in ways):
        parser.error(f"--ways knows: {'; '.join(WAYS)}")
    if ways:
        compare_ways(arguments.data, models, tokenizer, ways)
    compare_speed(arguments.data, arguments.masked, tokenizer)


if __name__ == "__main__":
    main()
