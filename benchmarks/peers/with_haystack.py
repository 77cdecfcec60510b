"""Haystack: pipelines over InMemoryDocumentStore, the store with both BM25 and vectors built in.

Its duplicate policies look at ids, which are hashes of content and metadata, but only once a
document is embedded; so a re-ingest asks for the ids first and embeds what is not there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from child import Hit, serve
from haystack import Document, Pipeline, component
from haystack.components.converters import TextFileToDocument
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy

from embedding import shared_embedder

SHARED = shared_embedder()


@component
class QueryEmbedder:
    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": SHARED.query(text).tolist()}


def embedded(documents: list[Document]) -> list[Document]:
    vectors = SHARED.embed([one.content or "" for one in documents])
    return [
        replace(one, embedding=vector.tolist())
        for one, vector in zip(documents, vectors, strict=True)
    ]


class Haystack:
    def open(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.file = home / "store.json"
        self.store = (
            InMemoryDocumentStore.load_from_disk(str(self.file))
            if self.file.exists()
            else InMemoryDocumentStore()
        )
        self.pipeline = Pipeline()
        self.pipeline.add_component("embedder", QueryEmbedder())
        self.pipeline.add_component("dense", InMemoryEmbeddingRetriever(self.store))
        self.pipeline.add_component("words", InMemoryBM25Retriever(self.store))
        self.pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
        self.pipeline.connect("embedder.embedding", "dense.query_embedding")
        self.pipeline.connect("dense", "joiner")
        self.pipeline.connect("words", "joiner")

    def ingest(self, folder: Path) -> dict[str, Any]:
        files = sorted(file for file in folder.rglob("*") if file.suffix in (".md", ".mdx"))
        read = TextFileToDocument(store_full_path=True).run(sources=files)["documents"]
        chunks = DocumentSplitter().run(documents=read)["documents"]
        known = {one.id for one in self.store.filter_documents()}
        new = [one for one in chunks if one.id not in known]
        gone = known - {one.id for one in chunks}
        self.store.write_documents(embedded(new), DuplicatePolicy.OVERWRITE)
        self.store.delete_documents(list(gone))
        if new or gone:
            self.store.save_to_disk(str(self.file))
        return {"chunks": len(chunks), **SHARED.counts}

    reingest = ingest

    def fill(self, chunks: list[dict[str, Any]], vectors: Any) -> None:
        documents = [
            Document(
                content=one["text"], embedding=vector.tolist(),
                meta={"file_path": one["source"], "chapter": one["chapter"]},
            )
            for one, vector in zip(chunks, vectors, strict=True)
        ]  # fmt: skip
        self.store.write_documents(documents)
        self.store.save_to_disk(str(self.file))

    def search(self, question: str, limit: int, chapter: int | None) -> list[Hit]:
        wanted: dict[str, Any] = {"top_k": limit}
        if chapter is not None:
            wanted["filters"] = {"field": "meta.chapter", "operator": "==", "value": chapter}
        inputs = {
            "embedder": {"text": question},
            "dense": wanted,
            "words": {"query": question, **wanted},
            "joiner": {"top_k": limit},
        }
        found = self.pipeline.run(inputs)["joiner"]["documents"]
        return [Hit(one.meta["file_path"], one.content or "") for one in found]


if __name__ == "__main__":
    serve(Haystack())
