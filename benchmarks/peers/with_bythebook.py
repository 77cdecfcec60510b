"""bythebook itself, through its public Python interface."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from child import Hit, serve

from bythebook import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.settings import Settings

BOOK = "book"


class Bythebook:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def open(self, home: Path) -> None:
        self.library = self.loop.run_until_complete(Library.open(Settings(home=home)))

    def load(self, changes: bool) -> None:
        import bythebook.ingestion.ingest
        import bythebook.ingestion.jobs
        import bythebook.ingestion.locks
        import bythebook.sources

        if changes:
            import bythebook.database.engine
            import bythebook.ingestion.catalog  # noqa: F401

    def ingest(self, folder: Path) -> dict[str, Any]:
        job = self.loop.run_until_complete(self.library.ingest(folder, book_id=BOOK))
        return {"chunks": job.chunks_created, "embedded": self.library.embedder.texts_embedded}

    reingest = ingest

    def search(self, question: str, limit: int, chapter: int | None) -> list[Hit]:
        query = SearchQuery(
            text=question[:2000], book_id=BOOK, limit=limit, hardware_tier_filter=4,
            chapter_min=chapter, chapter_max=chapter,
        )  # fmt: skip
        found = self.loop.run_until_complete(self.library.search(query))
        return [Hit(one.metadata.source_file, one.text) for one in found.passages]

    def ask(self, question: str) -> str:
        from bythebook import Assistant  # as in the package: who only searches does not load it

        async def ask() -> str:
            async with Assistant(self.library) as assistant:
                return (await assistant.ask(question)).text

        return self.loop.run_until_complete(ask())

    def raw(self, folder: Path) -> dict[str, Any]:
        """The embedder alone on the very texts that an ingest of this folder embeds."""
        from bythebook.ingestion.plan import make_plan
        from bythebook.models.job import IngestionState
        from bythebook.reading.document import PLAIN
        from bythebook.reading.layout import find_book

        book = find_book(folder, BOOK)
        most = self.library.settings.max_file_mb * 1_000_000
        plan = make_plan(book, IngestionState(book_id=BOOK, collection_name="none"), "full", most)
        pages = [
            PLAIN.read(book, file, plan.placements[file], most).document for file in plan.process
        ]
        texts = [chunk.embedded_text for page in pages for chunk in page.chunks]
        embedder = self.library.embedder
        self.loop.run_until_complete(embedder.embed_documents(texts[:8]))
        started = time.perf_counter()
        self.loop.run_until_complete(embedder.embed_documents(texts))
        return {"chunks": len(texts), "embedding_seconds": time.perf_counter() - started}

    def fill(self, chunks: list[dict[str, Any]], vectors: Any) -> None:
        """By the parts an ingest is made of, since an ingest itself would embed."""
        self.loop.run_until_complete(self._fill(chunks, vectors))

    async def _fill(self, chunks: list[dict[str, Any]], vectors: Any) -> None:
        from bythebook.ingestion.pages import make_point
        from bythebook.models.chunk import DocumentChunk, now
        from bythebook.models.job import IngestionRecord

        library, written_at = self.library, now()
        model = library.embedder.name
        await library.catalog.save_book(
            BOOK,
            {
                "title": "Bench", "language": "en", "base_url": "", "source": "",
                "collection_name": library.settings.collection, "chunker_version": 1,
                "embedding_model": model, "dimension": library.embedder.dimension,
            },
        )  # fmt: skip
        record = IngestionRecord(
            source_file="all", file_hash="", chunk_ids=[], chunk_count=len(chunks), module="m",
            ingested_at=written_at, book_id=BOOK, chapter=0, lesson=0, parent_doc_id="", url="",
            chunker_version=1,
        )  # fmt: skip
        await library.catalog.save_files([record])
        store = await library.store()
        for start in range(0, len(chunks), 500):
            points = [
                make_point(
                    DocumentChunk.model_validate(chunk["bythebook"]), vector.tolist(), model=model,
                    language="en", previous=None, written_at=written_at,
                )
                for chunk, vector in zip(
                    chunks[start : start + 500], vectors[start : start + 500], strict=True
                )
            ]  # fmt: skip
            await store.replace(points, [], durable=False)
        await store.optimize()


if __name__ == "__main__":
    serve(Bythebook())
