"""Writes folders of passages and questions as the shared question sets have them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any


def write_folder(
    folder: Path, passages: dict[str, str], queries: list[dict[str, Any]], right: dict[str, str]
) -> Path:
    """`right` maps a query's id to that of its passage."""
    folder.mkdir(parents=True)
    corpus = [{"_id": id, "title": f"Passage {id}", "text": text} for id, text in passages.items()]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    lines = ["query-id\tcorpus-id\tscore", *(f"{q}\t{p}\t1" for q, p in right.items())]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
