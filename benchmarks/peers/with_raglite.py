"""RAGLite: DuckDB with its vector and full-text extensions, hybrid search, no reranker.

Three things it would download are replaced. The embedder: LiteLLM's call is answered by the shared
one. The model that finds ends of sentences: by a rule, which is faster. DuckDB's extensions: by
the same files from their wheels. The reranker, another download, is switched off, and the query
adapter, which a language model has to teach.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import raglite._embed
import raglite._split_sentences
from child import Hit, serve
from duckdb_extensions import import_extension
from litellm import register_model
from raglite import Document, RAGLiteConfig, hybrid_search, retrieve_chunks
from raglite._database import Chunk, create_database_engine
from sqlmodel import Session, select, text

from embedding import DIMENSION, shared_embedder

SHARED = shared_embedder()
MODEL = "openai/shared-minilm"
COLUMNS = {
    "document": ("id, filename, metadata", "id, filename, metadata"),
    "chunk": (
        'id, document_id, "index", headings, body, metadata',
        "id, id, 0, '', body, metadata",
    ),
    "chunk_embedding": ("chunk_id, embedding", "id, embedding"),
}
SENTENCE_END = re.compile(r"[.!?:][\"')\]]*\s|\n")


def embedding(_model: str, texts: list[str]) -> dict[str, Any]:
    return {"data": [{"embedding": vector} for vector in SHARED.embed(texts)]}


def sentence_ends(document: str, **_how: Any) -> Any:
    chances = np.zeros(len(document))
    chances[[match.end() - 1 for match in SENTENCE_END.finditer(document)]] = 1
    return chances


KNOWN = {"litellm_provider": "openai", "mode": "embedding", "output_vector_size": DIMENSION}
register_model({MODEL: {**KNOWN, "max_tokens": 256}})
raglite._embed.embedding = embedding
raglite._split_sentences._load_sat = lambda: (SimpleNamespace(predict_proba=sentence_ends), {})


class RAGLite:
    def open(self, home: Path) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        for extension in ("fts", "vss"):
            import_extension(extension, con=duckdb.connect())
        self.config = RAGLiteConfig(
            db_url=f"duckdb:///{home}/raglite.db", llm=MODEL, embedder=MODEL, reranker=None,
            vector_search_query_adapter=False,
        )  # fmt: skip
        self.engine = create_database_engine(self.config)

    def ingest(self, folder: Path) -> dict[str, Any]:
        files = sorted(file for file in folder.rglob("*") if file.suffix in (".md", ".mdx"))
        documents = [Document.from_text(f.read_text("utf-8"), filename=str(f)) for f in files]
        with Session(self.engine) as session:
            known = set(session.exec(select(Document.id)).all())
        gone = known - {one.id for one in documents}
        raglite.delete_documents(list(gone), config=self.config)
        raglite.insert_documents(documents, config=self.config)
        with Session(self.engine) as session:
            chunks = len(session.exec(select(Chunk.id)).all())
        return {"chunks": chunks, **SHARED.counts}

    reingest = ingest

    def fill(self, chunks: list[dict[str, Any]], vectors: Any) -> None:
        """In bulk, each chunk as a document of its own: row by row it takes hours. RAGLite makes
        its indexes when it opens the database again."""
        rows = self.home / "rows.json"
        with rows.open("w", encoding="utf-8") as lines:
            for one, vector in zip(chunks, vectors, strict=True):
                place = {"filename": [one["source"]], "chapter": [one["chapter"]]}
                row = {"id": one["id"], "filename": one["source"], "body": one["text"],
                       "metadata": json.dumps(place), "embedding": vector.tolist()}  # fmt: skip
                lines.write(json.dumps(row) + "\n")
        with self.engine.begin() as session:
            session.execute(text("DROP INDEX vector_search_chunk_index"))
            session.execute(text(f"CREATE TEMP TABLE rows AS SELECT * FROM read_json('{rows}')"))
            for table, (columns, values) in COLUMNS.items():
                session.execute(text(f"INSERT INTO {table} ({columns}) SELECT {values} FROM rows"))
        rows.unlink()
        create_database_engine.cache_clear()
        with Session(create_database_engine(self.config)) as session:
            session.execute(text("CHECKPOINT"))

    def search(self, question: str, limit: int, chapter: int | None) -> list[Hit]:
        only = None if chapter is None else {"chapter": chapter}
        ids, _scores = hybrid_search(
            question, num_results=limit, metadata_filter=only, config=self.config
        )
        chunks = retrieve_chunks(ids, config=self.config)
        return [Hit(chunk.document.filename, chunk.body) for chunk in chunks]


if __name__ == "__main__":
    serve(RAGLite())
