"""LangChain: its indexing API over Chroma or FAISS, and BM25 beside it in an EnsembleRetriever.

BM25Retriever has no filter and no file of its own: with a filter its hits are filtered afterwards,
and it is kept with pickle. It is made anew whenever the indexing API reports a change. With
`fastembed` it embeds by the fastest of the ways on a processor that its documentation names.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

from child import Hit, serve
from float_weights import BATCH, MODEL, own_cache
from langchain_classic.indexes import SQLRecordManager
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.document_loaders import DirectoryLoader, TextLoader
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import index
from langchain_core.runnables import RunnableLambda
from langchain_text_splitters import RecursiveCharacterTextSplitter

from embedding import DIMENSION, counts_of, shared_embedder

# With a filter, this many times what is wanted is fetched where filtering comes afterwards.
SPARE = 20


class Shared(Embeddings):
    def __init__(self) -> None:
        self.shared = shared_embedder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.shared.embed(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.shared.query(text).tolist()


def fastembed() -> Embeddings:
    from langchain_community.embeddings import FastEmbedEmbeddings

    return FastEmbedEmbeddings(model_name=MODEL, cache_dir=own_cache(), batch_size=BATCH)


class LangChain:
    def __init__(self, setup: str) -> None:
        self.faiss = setup in ("faiss", "fastembed")
        self.embedder = fastembed() if setup == "fastembed" else Shared()

    def open(self, home: Path) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        if self.faiss:
            self.store = self._open_faiss()
        else:
            from langchain_chroma import Chroma

            self.store = Chroma("book", self.embedder, persist_directory=str(home / "chroma"))
        self.records = SQLRecordManager("book", db_url=f"sqlite:///{home}/records.db")
        self.records.create_schema()
        self.words = home / "bm25.pickle"
        self.bm25 = pickle.loads(self.words.read_bytes()) if self.words.exists() else None

    def _open_faiss(self) -> Any:
        import faiss
        from langchain_community.docstore.in_memory import InMemoryDocstore
        from langchain_community.vectorstores import FAISS

        if (self.home / "faiss").exists():
            return FAISS.load_local(
                str(self.home / "faiss"), self.embedder, allow_dangerous_deserialization=True
            )
        return FAISS(self.embedder, faiss.IndexFlatL2(DIMENSION), InMemoryDocstore(), {})

    def ingest(self, folder: Path) -> dict[str, Any]:
        kinds = ["**/*.md", "**/*.mdx"]
        files = DirectoryLoader(str(folder), glob=kinds, loader_cls=TextLoader).load()
        cut = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)
        chunks = cut.split_documents(files)
        done = index(
            chunks, self.records, self.store, cleanup="full", source_id_key="source",
            batch_size=1000 if self.faiss else 100, key_encoder="sha256",
        )  # fmt: skip
        if done["num_added"] or done["num_deleted"]:
            self._keep(chunks)
        figures: dict[str, Any] = {"chunks": len(chunks)}
        if isinstance(self.embedder, Shared):
            return figures | self.embedder.shared.counts
        return figures | {"afterwards": lambda: counts_of([one.page_content for one in chunks])}

    reingest = ingest

    def _keep(self, chunks: list[Document]) -> None:
        self.bm25 = BM25Retriever.from_documents(chunks)
        self.words.write_bytes(pickle.dumps(self.bm25))
        if self.faiss:
            self.store.save_local(str(self.home / "faiss"))

    def fill(self, chunks: list[dict[str, Any]], vectors: Any) -> None:
        texts = [one["text"] for one in chunks]
        metadatas = [{name: one[name] for name in ("source", "chapter")} for one in chunks]
        documents = [Document(t, metadata=m) for t, m in zip(texts, metadatas, strict=True)]
        if self.faiss:
            self.store.add_embeddings(zip(texts, vectors.tolist(), strict=True), metadatas)
        else:
            shared_embedder().know(texts, vectors)
            for start in range(0, len(documents), 5000):
                self.store.add_documents(documents[start : start + 5000])
        self._keep(documents)

    def search(self, question: str, limit: int, chapter: int | None) -> list[Hit]:
        wanted: dict[str, Any] = {"k": limit}
        self.bm25.k = limit
        words: Any = self.bm25
        if chapter is not None:
            self.bm25.k = SPARE * limit
            wanted |= {"filter": {"chapter": chapter}}
            wanted |= {"fetch_k": SPARE * limit} if self.faiss else {}
            words = self.bm25 | RunnableLambda(
                lambda hits: [hit for hit in hits if hit.metadata["chapter"] == chapter][:limit]
            )
        both = EnsembleRetriever(
            retrievers=[words, self.store.as_retriever(search_kwargs=wanted)], weights=[0.5, 0.5]
        )
        found = both.invoke(question)[:limit]
        return [Hit(hit.metadata["source"], hit.page_content) for hit in found]


if __name__ == "__main__":
    serve(LangChain(sys.argv[1]))
