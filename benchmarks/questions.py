"""The shared question sets as books: one page a passage, so that the real pipeline is measured."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Any

SETS = ("anthropic_docs", "mtrag_un", "clapnq_dev", "squad2")


@dataclass(frozen=True)
class QuestionSet:
    """Questions with the pages that are right for each; `pages` maps a page to its passage's id."""

    name: str
    book: Path
    questions: list[dict[str, Any]]
    right: dict[str, dict[str, int]]
    pages: dict[str, str]


def _lines(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def load(data: Path, name: str, work: Path, every: int = 1) -> QuestionSet:
    """Write the set's passages as a book below `work`."""
    folder = data / "qa" / name
    book = work / "books" / name
    pages: dict[str, str] = {}
    for number, passage in enumerate(_lines(folder / "corpus.jsonl.gz")):
        page = f"p{number:05}.md"
        pages[page] = passage["_id"]
        file = book / page
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            title = passage.get("title") or f"Passage {number}"
            file.write_text(f"# {title}\n\n{passage['text']}\n", encoding="utf-8")
    right: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, passage_id, grade = line.split("\t")
        right[question][passage_id] = int(grade)
    questions = _lines(folder / "queries.jsonl.gz")[::every]
    return QuestionSet(name, book, questions, dict(right), pages)


def ndcg(ranked: list[str], right: dict[str, int], depth: int = 10) -> float:
    found = sum(right.get(page, 0) / log2(rank + 2) for rank, page in enumerate(ranked[:depth]))
    grades = sorted(right.values(), reverse=True)[:depth]
    return found / sum(grade / log2(rank + 2) for rank, grade in enumerate(grades))


def recall(ranked: list[str], right: dict[str, int], depth: int = 5) -> float:
    return sum(page in right for page in ranked[:depth]) / min(len(right), depth)


def hit(ranked: list[str], right: dict[str, int], depth: int = 5) -> float:
    return float(any(page in right for page in ranked[:depth]))
