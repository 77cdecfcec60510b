"""A book into the index: incremental, reader-atomic file by file, restartable at any point."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from bythebook.embedding.embedder import Embedder
from bythebook.errors import BookError, StoreError
from bythebook.index.models import PointStruct
from bythebook.index.store import VectorStore
from bythebook.ingestion.catalog import Catalog
from bythebook.ingestion.jobs import Jobs
from bythebook.ingestion.plan import Plan, make_plan, noted_placement, read_page
from bythebook.ingestion.points import (
    EmbeddingKey,
    Known,
    Vector,
    all_points,
    book_filter,
    embedding_key,
    known_points,
    make_point,
)
from bythebook.ingestion.stamp import check_stamp
from bythebook.models.book import BookInfo
from bythebook.models.chunk import CHUNKER_VERSION, now, parent_id
from bythebook.models.job import IngestionJob
from bythebook.models.state import IngestionRecord, IngestionState
from bythebook.models.vocabulary import IngestionMode
from bythebook.reading.layout import Book
from bythebook.tracing.spans import note, spanned

if TYPE_CHECKING:
    from bythebook.reading.document import Document
    from bythebook.reading.head import Head

# Chunks embedded in one go: enough to keep every core busy, little enough to lose to a crash.
BATCH_CHUNKS = 32
# Batches waiting behind the one that is being embedded, so that no core runs dry.
BATCHES_AHEAD = 2
# Chunks in one write where all of them are embedded already.
WRITE_CHUNKS = 256
# Chunks after which the index is flushed: it stops every thread, and a crash costs no embedding.
SAVE_CHUNKS = 1024
MAX_WARNINGS = 100

OnProgress = Callable[[IngestionJob], None]
OpenStore = Callable[[bool], Awaitable[VectorStore]]


@dataclass(frozen=True)
class _Page:
    """A file on its way into the index."""

    file: str
    file_hash: str
    document: Document
    head: Head
    known: Known


@dataclass(frozen=True)
class _Embedded:
    """Files with a vector for each of their passages."""

    pages: list[_Page]
    vectors: dict[EmbeddingKey, Vector]


@dataclass
class Ingestion:
    """One run over one book. The caller holds the book's lock and notes how the job fails. To tidy
    up stops every reader for a while, so a service leaves it to its next start."""

    book: Book
    job: IngestionJob
    catalog: Catalog
    jobs: Jobs
    embedder: Embedder
    open_store: OpenStore
    collection: str
    max_bytes: int
    tidy: bool = True
    on_progress: OnProgress = lambda _job: None

    @property
    def mode(self) -> IngestionMode:
        return self.job.mode

    @spanned("ingest")
    async def run(self) -> IngestionJob:
        """Do the work and return the job; what is finished when something fails stays in."""
        note(job_id=self.job.job_id, book_id=self.book.book_id)
        last = await self.jobs.last_ended(self.book.book_id)
        self.after_crash = last is not None and last.status != "completed"
        await self._run()
        note(files=self.job.files_processed, chunks=self.job.chunks_embedded)
        self.job.status = "completed"
        self.job.completed_at = now()
        await self.jobs.save(self.job)
        return await self.jobs.get(self.job.job_id)

    async def _run(self) -> None:
        known = await self._known_book()
        check_stamp(known, self.mode, self.embedder.name, self.collection)
        state = await self.catalog.state(self.book.book_id, self.collection)
        plan = await asyncio.to_thread(make_plan, self.book, state, self.mode, self.max_bytes)
        self.job.total_files = plan.total_files
        self.job.files_to_process = len(plan.process)
        self.on_progress(self.job)
        self.job.files_failed = len(plan.failed)
        self.job.warnings = plan.warnings
        if not (plan.nothing_to_do and known and not self.after_crash):
            store = await self.open_store(self.mode == "recreate")
            if self.mode == "recreate":
                await self._forget(store)
                known = None
            elif self.after_crash or known is None:
                await self._remove_orphans(store, {*state.records, *plan.process})
            self.book_saved = known is not None
            fresh = await store.count(book_filter(self.book.book_id)) == 0
            await self._process(store, plan, fresh)
            for file in plan.deleted:
                await self._delete(store, file)
            if self.tidy:
                await store.optimize()
        await self._note_seen(plan, state)
        self.job.files_skipped = plan.total_files - self.job.files_processed
        self.job.warnings = _shortened(self.job.warnings)
        await self._save_book()

    async def _note_seen(self, plan: Plan, state: IngestionState) -> None:
        """So that the next run need not read again what this one read for nothing."""
        unchanged = state.records.keys() - {*plan.process, *plan.deleted, *plan.failed}
        settled = {file: seen for file in unchanged if (seen := plan.seen.get(file))}
        news = {f: seen for f, seen in settled.items() if seen != state.records[f].seen}
        await self.catalog.note_seen(self.book.book_id, news)

    async def _known_book(self) -> BookInfo | None:
        books = await self.catalog.books()
        return next((book for book in books if book.book_id == self.book.book_id), None)

    async def _forget(self, store: VectorStore) -> None:
        selection = book_filter(self.book.book_id)
        self.job.chunks_deleted += await store.count(selection)
        await self.catalog.forget_book(self.book.book_id)
        await store.delete(selection)

    async def _remove_orphans(self, store: VectorStore, expected: set[str]) -> None:
        """A run that died, or another database, may have written files this one never knew."""
        indexed = await store.facet("source_file", book_filter(self.book.book_id), limit=1_000_000)
        for file in indexed:
            if file not in expected:
                await self._delete(store, str(file), was_known=False)

    async def _process(self, store: VectorStore, plan: Plan, fresh: bool) -> None:
        """Bring every file in; what is finished when something fails stays finished."""
        self.written: set[str] = set()
        self.unsaved: list[IngestionRecord] = []
        try:
            await self._pump(store, plan, fresh)
        except StoreError:
            raise  # nothing more can be written there
        except BaseException:
            await self._save(store)
            raise
        await self._save(store)

    async def _pump(self, store: VectorStore, plan: Plan, fresh: bool) -> None:
        """While one batch is being embedded, the next waits behind it and the last is written."""
        embedding: deque[asyncio.Task[_Embedded]] = deque()
        files = iter(plan.process)
        try:
            while True:
                batch = await self._read_batch(store, plan, files, fresh)
                if batch:
                    embedding.append(asyncio.create_task(self._embed(batch)))
                if not embedding:
                    return
                if not batch or len(embedding) > BATCHES_AHEAD:
                    await self._write(store, plan, await embedding[0])
                    embedding.popleft()
        finally:
            for task in embedding:
                task.cancel()
            await asyncio.gather(*embedding, return_exceptions=True)

    async def _read_batch(
        self, store: VectorStore, plan: Plan, files: Any, fresh: bool
    ) -> list[_Page]:
        """Enough to embed; of what is embedded already, enough for one write."""
        pages: list[_Page] = []
        chunks = missing = 0
        for file in files:
            try:
                file_hash, document, head = await asyncio.to_thread(
                    read_page, self.book, file, plan.placements[file], self.max_bytes
                )
            except BookError as problem:  # it could be read a moment ago, when the plan was made
                self.job.warnings.append(f"{problem.message} It was skipped. {problem.action}")
                self.job.files_failed += 1
                continue
            self.job.warnings += [f"{file}: {problem}" for problem in document.problems]
            known = Known()
            if not fresh:
                known = await known_points(
                    store, self.book.book_id, file, document.chunks, self.embedder.name
                )
            pages.append(_Page(file, file_hash, document, head, known))
            chunks += len(document.chunks)
            missing += sum(embedding_key(one) not in known.vectors for one in document.chunks)
            if missing >= BATCH_CHUNKS or chunks >= WRITE_CHUNKS:
                break
        return pages

    @spanned("embed_batch")
    async def _embed(self, pages: list[_Page]) -> _Embedded:
        vectors: dict[EmbeddingKey, Vector] = {}
        missing: dict[EmbeddingKey, str] = {}
        for page in pages:
            for chunk in page.document.chunks:
                key = embedding_key(chunk)
                if key in page.known.vectors:
                    vectors[key] = page.known.vectors[key]
                else:
                    missing[key] = chunk.embedded_text
        missing = {key: text for key, text in missing.items() if key not in vectors}
        if missing:
            embedded = await self.embedder.embed_documents(list(missing.values()))
            vectors |= dict(zip(missing, embedded.tolist(), strict=True))
            self.job.chunks_embedded += len(missing)
            note(chunks=len(missing))
        return _Embedded(pages, vectors)

    @spanned("write_batch")
    async def _write(self, store: VectorStore, plan: Plan, batch: _Embedded) -> None:
        await self._write_points(store, batch)
        self.unsaved += [self._record(page, plan) for page in batch.pages]
        self.job.files_processed += len(batch.pages)
        if sum(record.chunk_count for record in self.unsaved) >= SAVE_CHUNKS:
            await self._save(store)
        else:  # for whoever follows the job
            await self.jobs.save(self.job)
        self.on_progress(self.job)

    async def _save(self, store: VectorStore) -> None:
        """The database hears of files once the index has them on disk."""
        await store.flush()
        # A known book keeps its old stamp until every file has the new.
        if self.unsaved and not self.book_saved:
            await self._save_book()
            self.book_saved = True
        await self.catalog.save_files(self.unsaved)
        self.unsaved = []
        await self.jobs.save(self.job)

    async def _write_points(self, store: VectorStore, batch: _Embedded) -> None:
        """All files of a batch in one switch: each costs the disk a moment."""
        points = await asyncio.to_thread(self._points, batch)
        ids = {point.id for point in points}
        known = {old for page in batch.pages for old in page.known.points}
        # A renumbered neighbour may by now own an id that a file had.
        stale = sorted(known - ids - self.written)
        await store.replace(points, stale, durable=False)
        self.written |= ids
        self.job.chunks_created += len(ids - known)
        self.job.chunks_deleted += len(stale)

    def _points(self, batch: _Embedded) -> list[PointStruct]:
        written_at = now()
        return [
            make_point(
                chunk,
                batch.vectors[embedding_key(chunk)],
                model=self.embedder.name,
                language=self.book.language,
                previous=page.known.points.get(chunk.id),
                written_at=written_at,
            )
            for page in batch.pages
            for chunk in page.document.chunks
        ]

    def _record(self, page: _Page, plan: Plan) -> IngestionRecord:
        placement = plan.placements[page.file]
        return IngestionRecord(
            source_file=page.file,
            file_hash=page.file_hash,
            chunk_ids=[chunk.id for chunk in page.document.chunks],
            chunk_count=len(page.document.chunks),
            ingested_at=now(),
            chunker_version=CHUNKER_VERSION,
            book_id=self.book.book_id,
            module=placement.module,
            chapter=placement.chapter,
            lesson=placement.lesson,
            parent_doc_id=parent_id(placement.parent_key(self.book.book_id)),
            url=placement.url,
            head=page.head.to_json(),
            placement=noted_placement(self.book, placement),
            seen=plan.seen[page.file] if plan.hashes[page.file] == page.file_hash else None,
        )

    async def _delete(self, store: VectorStore, file: str, was_known: bool = True) -> None:
        selection = book_filter(self.book.book_id, source_file=file)
        gone = await all_points(store, selection)
        await store.delete(selection)
        await self.catalog.forget_file(self.book.book_id, file)
        self.job.chunks_deleted += len(gone)
        self.job.files_deleted += was_known

    async def _save_book(self) -> None:
        values: dict[str, Any] = {
            "title": self.book.title,
            "language": self.book.language,
            "base_url": self.book.base_url,
            "source": self.job.source or str(self.book.root),
            "collection_name": self.collection,
            "embedding_model": self.embedder.name,
            "dimension": self.embedder.dimension,
            "chunker_version": CHUNKER_VERSION,
        }
        field = "last_incremental_update" if self.mode == "incremental" else "last_full_ingest"
        await self.catalog.save_book(self.book.book_id, {**values, field: now()})


def _shortened(warnings: list[str]) -> list[str]:
    if len(warnings) <= MAX_WARNINGS:
        return warnings
    more = len(warnings) - MAX_WARNINGS
    return [*islice(warnings, MAX_WARNINGS), f"… and {more} more warnings"]
