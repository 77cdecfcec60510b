"""Whether the reader helps the gate and the order of passages, on questions it has not seen.

    python benchmarks/reader/judge.py --work WORK --out OUT

Reads what prepare.py and train.py wrote and prints Markdown. A book's AUROC, of covered questions
against near misses and against off-topic ones, is from a logistic regression on the other books.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bythebook.evaluation.metrics import auroc
from bythebook.retrieval.coverage import FEATURES, SIGNS, Coverage, Features
from bythebook.retrieval.fitting import Example, example_weights, logistic_regression

FOLDINGS = ("by_question", "by_article")
KINDS = ("covered", "near", "off-topic")
SHARES = (0.01, 0.03, 0.1)
Array = NDArray[np.float64]
Entry = dict[str, Any]


def held_out(examples: Sequence[Example], x: Array, signs: Sequence[int]) -> Array:
    """For each question the log-odds from a fit to the other books."""
    found = np.zeros(len(examples))
    for book in {example.book for example in examples}:
        own = np.array([example.book == book for example in examples])
        others = [example for example in examples if example.book != book]
        covered = np.array([float(example.covered) for example in others])
        weights = np.array(example_weights(others, {}))
        slopes, _ = logistic_regression(x[~own], covered, weights, np.array(signs, float))
        found[own] = x[own] @ slopes
    return found


def gate_table(entries: list[Entry]) -> None:
    entries = [entry for entry in entries if entry["kind"] in KINDS]
    features = [Features(**entry["evidence"]["features"]) for entry in entries]
    examples = [
        Example(entry["book"], entry["question"], entry["kind"], Coverage(found, ()))
        for entry, found in zip(entries, features, strict=True)
    ]
    gate = np.array([[getattr(found, name) for name in FEATURES] for found in features])
    signs = [SIGNS[name] for name in FEATURES]
    columns = {"gate": held_out(examples, gate, signs)}
    for folding in FOLDINGS:
        reader = np.array([max(entry[folding]) for entry in entries])
        both = np.column_stack([gate, reader])
        columns[f"gate + reader {folding}"] = held_out(examples, both, [*signs, 1])
        columns[f"reader alone {folding}"] = reader
    header("book", "covered, near, off-topic", *columns)
    for book in dict.fromkeys(entry["book"] for entry in entries):
        groups = [
            [n for n, one in enumerate(examples) if (one.book, one.kind) == (book, kind)]
            for kind in KINDS
        ]
        cells = [", ".join(str(len(group)) for group in groups)]
        for values in columns.values():
            right, *wrong = (values[group].tolist() for group in groups)
            cells.append(" / ".join(figure(auroc(right, each)) for each in wrong))
        print("|", " | ".join([book, *cells]), "|")


def order_table(entries: list[Entry]) -> None:
    columns = [(folding, share) for folding in FOLDINGS for share in SHARES]
    names = [f"+ {share} × reader {folding}" for folding, share in columns]
    header("book", "questions", "evidence", *names)
    marked = [entry for entry in entries if entry["kind"] == "covered" and "gold" in entry]
    for book in dict.fromkeys(entry["book"] for entry in marked):
        own = [entry for entry in marked if entry["book"] == book]
        cells = [str(len(own))]
        for folding, share in [(FOLDINGS[0], 0.0), *columns]:
            cells.append(figure(mean(best_is_gold(entry, folding, share) for entry in own)))
        print("|", " | ".join([book, *cells]), "|")


def best_is_gold(entry: Entry, folding: str, share: float) -> bool:
    strengths = zip(entry["evidence"]["strengths"], entry[folding], strict=True)
    sums = [evidence + share * read for evidence, read in strengths]
    return entry["passages"][sums.index(max(sums))]["page"] in entry["gold"]


def header(*names: str) -> None:
    print(f"\n| {' | '.join(name.replace('_', ' ') for name in names)} |\n{'|---' * len(names)}|")


def figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def main() -> None:
    options = argparse.ArgumentParser()
    for name in ("--work", "--out"):
        options.add_argument(name, type=Path, required=True)
    chosen = options.parse_args()
    with (chosen.work / "asked.jsonl").open(encoding="utf-8") as lines:
        entries: list[Entry] = [json.loads(line) for line in lines]
    rows = np.load(chosen.work / "rows.npz")
    begin, labels = rows["source"] == "begin", rows["label"]
    for folding in FOLDINGS:
        answers, supports = np.load(chosen.out / f"{folding}.npz")["logits"].T.tolist()
        for question, value in zip(rows["question"].tolist(), answers, strict=True):
            if question >= 0:
                entries[question].setdefault(folding, []).append(value)
        said = np.array(supports)
        right, wrong = (said[begin & (labels == label)].tolist() for label in (1, 0))
        print(f"begin, supported or not, {folding}: AUROC {figure(auroc(right, wrong))}")
    print("\nAUROC, near misses / off-topic:")
    gate_table(entries)
    print("\nBest passage is gold, ordered by evidence and the reader:")
    order_table(entries)


if __name__ == "__main__":
    main()
