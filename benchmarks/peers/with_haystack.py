"""Haystack: pipelines over InMemoryDocumentStore, the store with both BM25 and vectors built in.

Its duplicate policies look at ids, which are hashes of content and metadata, but only once a
document is embedded; so a re-ingest asks for the ids first and embeds what is not there. With
`fastembed` it embeds by its integration of FastEmbed.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from child import Hit, serve
from float_weights import BATCH, MODEL, own_cache
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

from embedding import counts_of, shared_embedder


@component
class QueryEmbedder:
    def __init__(self) -> None:
        self.shared = shared_embedder()

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": self.shared.query(text).tolist()}


@component
class DocumentEmbedder:
    def __init__(self) -> None:
        self.shared = shared_embedder()

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        vectors = self.shared.embed([one.content or "" for one in documents])
        pairs = zip(documents, vectors, strict=True)
        return {"documents": [replace(one, embedding=vector.tolist()) for one, vector in pairs]}


def fastembed() -> tuple[Any, Any]:
    from haystack_integrations.components.embedders.fastembed import (
        FastembedDocumentEmbedder,
        FastembedTextEmbedder,
    )

    how = {"model": MODEL, "cache_dir": own_cache(), "progress_bar": False}
    return FastembedDocumentEmbedder(**how, batch_size=BATCH), FastembedTextEmbedder(**how)


class Haystack:
    def __init__(self, setup: str) -> None:
        self.shared = setup != "fastembed"
        both = (DocumentEmbedder(), QueryEmbedder()) if self.shared else fastembed()
        self.documents, self.query = both

    def open(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.file = home / "store.json"
        self.store = (
            InMemoryDocumentStore.load_from_disk(str(self.file))
            if self.file.exists()
            else InMemoryDocumentStore()
        )
        self.pipeline = Pipeline()
        self.pipeline.add_component("embedder", self.query)
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
        embedded = self.documents.run(documents=new)["documents"] if new else []
        self.store.write_documents(embedded, DuplicatePolicy.OVERWRITE)
        self.store.delete_documents(list(gone))
        if new or gone:
            self.store.save_to_disk(str(self.file))
        figures: dict[str, Any] = {"chunks": len(chunks)}
        if self.shared:
            return figures | shared_embedder().counts
        return figures | {"afterwards": lambda: counts_of([one.content or "" for one in chunks])}

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
    serve(Haystack(sys.argv[1]))
