"""LlamaIndex: its own vector store or Chroma, and BM25Retriever beside it in QueryFusionRetriever.

Its own store comes with chunks of 1024 tokens, the default; Chroma with chunks that the model can
read to the end. `refresh_ref_docs` finds what changed, what is gone is deleted by hand. The BM25
index is made anew after a change; its filter is a mask over all chunks, kept for each chapter.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from child import Hit, serve
from llama_index.core import SimpleDirectoryReader, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.indices import load_index_from_storage
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.retrievers.bm25 import BM25Retriever

from embedding import shared_embedder

SHARED = shared_embedder()


class Shared(BaseEmbedding):
    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return SHARED.embed(texts).tolist()

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return SHARED.query(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class LlamaIndex:
    def __init__(self, setup: str) -> None:
        self.chroma = setup == "chroma"
        cut = SentenceSplitter(chunk_size=256, chunk_overlap=20) if self.chroma else None
        self.how = {
            "embed_model": Shared(embed_batch_size=1000),
            "transformations": [cut or SentenceSplitter()],
            "store_nodes_override": True,  # BM25 needs them, whichever store has the vectors
        }

    def open(self, home: Path) -> None:
        self.home, self.index, self.bm25, self.kept = home, None, None, {}
        stores: dict[str, Any] = {}
        if self.chroma:
            import chromadb
            from llama_index.vector_stores.chroma import ChromaVectorStore

            client = chromadb.PersistentClient(str(home / "chroma"))
            stores["vector_store"] = ChromaVectorStore(client.get_or_create_collection("book"))
        if (home / "docstore.json").exists():
            stores["persist_dir"] = str(home)
        self.context = StorageContext.from_defaults(**stores)
        if "persist_dir" in stores:
            self.index = load_index_from_storage(self.context, **self.how)
            self.bm25 = BM25Retriever.from_persist_dir(str(home / "bm25"))

    def ingest(self, folder: Path) -> dict[str, Any]:
        how = {"recursive": True, "required_exts": [".md", ".mdx"], "filename_as_id": True}
        files = SimpleDirectoryReader(str(folder), **how).load_data()
        if self.index is None:
            self.index = VectorStoreIndex.from_documents(files, self.context, **self.how)
            self._keep()
        else:
            gone = set(self.index.ref_doc_info) - {file.id_ for file in files}
            for one in gone:
                self.index.delete_ref_doc(one, delete_from_docstore=True)
            if any(self.index.refresh_ref_docs(files)) or gone:
                self._keep()
        return {"chunks": len(self.index.docstore.docs), **SHARED.counts}

    reingest = ingest

    def _keep(self) -> None:
        self.bm25 = BM25Retriever(list(self.index.docstore.docs.values()))
        self.bm25.persist(str(self.home / "bm25"))
        self.bm25.bm25.corpus = self.bm25.corpus  # as if it had just been loaded
        self.kept.clear()
        self.context.persist(str(self.home))

    def fill(self, chunks: list[dict[str, Any]], vectors: Any) -> None:
        nodes = []
        for one, vector in zip(chunks, vectors, strict=True):
            place = {"file_path": one["source"], "chapter": one["chapter"]}
            nodes.append(TextNode(text=one["text"], embedding=vector.tolist(), metadata=place))
        self.index = VectorStoreIndex(nodes, storage_context=self.context, **self.how)
        self._keep()

    def search(self, question: str, limit: int, chapter: int | None) -> list[Hit]:
        if (limit, chapter) not in self.kept:
            self.kept[limit, chapter] = self._retriever(limit, chapter)
        found = self.kept[limit, chapter].retrieve(question)
        return [Hit(hit.node.metadata["file_path"], hit.node.get_content()) for hit in found]

    def _retriever(self, limit: int, chapter: int | None) -> QueryFusionRetriever:
        only = MetadataFilters(filters=[MetadataFilter(key="chapter", value=chapter or 0)])
        wanted = {"similarity_top_k": limit, "filters": None if chapter is None else only}
        words = BM25Retriever(existing_bm25=self.bm25.bm25, **wanted)
        both = [self.index.as_retriever(**wanted), words]
        how = {"mode": "reciprocal_rerank", "num_queries": 1, "use_async": False}
        return QueryFusionRetriever(both, llm=MockLLM(), similarity_top_k=limit, **how)


if __name__ == "__main__":
    serve(LlamaIndex(sys.argv[1]))
