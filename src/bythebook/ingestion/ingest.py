"""A book into the index: incremental, reader-atomic file by file, restartable at any point."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from bythebook.embedding.embedder import Embedder
from bythebook.errors import StoreError
from bythebook.index.store import VectorStore, book_filter
from bythebook.ingestion.catalog import Catalog
from bythebook.ingestion.jobs import Jobs
from bythebook.ingestion.pages import Embedded, PageUpdate, PageWork
from bythebook.ingestion.plan import (
    Plan,
    can_stay,
    check_stamp,
    cut_anew,
    folder_says,
    is_outdated,
    make_plan,
)
from bythebook.models.chunk import CHUNKER_VERSION, BookInfo, now
from bythebook.models.job import FileChanges, IngestionJob, IngestionRecord, IngestionState
from bythebook.models.values import IngestionMode
from bythebook.reading.document import PLAIN, PageReader
from bythebook.reading.layout import Book
from bythebook.tracing import note, spanned

# Chunks embedded in one go: enough to keep every core busy, little enough to lose to a crash.
BATCH_CHUNKS = 32
# Batches waiting behind the one that is being embedded, so that no core runs dry.
BATCHES_AHEAD = 2
# Chunks in one write where all of them are embedded already: each costs the disk a moment, and in a
# service a search may have to wait for it.
WRITE_CHUNKS = 512
WRITE_CHUNKS_SERVING = 64
# Chunks after which the index is flushed: it stops every thread, and a crash costs no embedding.
SAVE_CHUNKS = 1024
MAX_WARNINGS = 100

OnProgress = Callable[[IngestionJob], None]
OpenStore = Callable[[bool], Awaitable[VectorStore]]


@dataclass(frozen=True)
class Prepared:
    """What is to be done, once the index is open; without a `store` nothing is. Of a `fresh` book
    the index has nothing yet."""

    plan: Plan
    store: VectorStore | None = None
    fresh: bool = False


@dataclass
class Ingestion:
    """One run over one book. The caller holds the book's lock and notes how the job fails. To tidy
    up stops every reader for a while, so a service (`serving`) leaves most of it to its next
    start."""

    book: Book
    job: IngestionJob
    catalog: Catalog
    jobs: Jobs
    embedder: Embedder
    open_store: OpenStore
    collection: str
    max_bytes: int
    reader: PageReader = PLAIN
    serving: bool = False
    on_progress: OnProgress = lambda _job: None
    seen: str | None = field(default=None, init=False)
    as_it_was: bool = field(default=False, init=False)

    @property
    def mode(self) -> IngestionMode:
        return self.job.mode

    async def run(self) -> IngestionJob:
        """Do the work and return the job; what is finished when something fails stays in."""
        await self.bring_in()
        self.job.status = "completed"
        self.job.completed_at = now()
        return await self.jobs.save(self.job)

    @spanned("ingest")
    async def bring_in(self) -> None:
        """All of the work, without noting that the job has ended."""
        note(job_id=self.job.job_id, book_id=self.book.book_id)
        prepared = await self.prepare()
        if prepared.store is not None:
            await self._process(prepared.store, prepared.plan, prepared.fresh)
        await self.finish(prepared.store, prepared.plan.deleted)
        note(files=self.job.files_processed, chunks=self.job.chunks_embedded)

    async def prepare(self) -> Prepared:
        """Find out what is to be done, and clear the index of what must go first."""
        last = await self.jobs.last_ended(self.book.book_id)
        after_crash = last is not None and last.status != "completed"
        known = await self._known_book()
        check_stamp(known, self.mode, self.embedder.name, self.collection)
        outdated = self.mode == "incremental" and is_outdated(known)
        keep = can_stay(known, self.embedder, self.collection)
        self.book_saved = known is not None and keep
        self.seen = await asyncio.to_thread(folder_says, self.book, self.max_bytes)
        seen_before = (
            known.seen if known and not after_crash and self.mode == "incremental" else None
        )
        if seen_before is not None and seen_before == self.seen:
            self.as_it_was = True
            plan = Plan(len(self.book.files), warnings=list(self.book.problems))
            return Prepared(self._note_plan(plan))
        state = await self.catalog.state(self.book.book_id, self.collection)
        mode: IngestionMode = "full" if outdated else self.mode
        plan = await asyncio.to_thread(
            make_plan, self.book, state, mode, self.max_bytes, self.reader
        )
        if outdated:
            plan.warnings.append(cut_anew(self.book.book_id))
        self._note_plan(plan)
        if not all(plan.seen.values()):  # one that includes others has to be looked into each time
            self.seen = None
        await self._note_seen(plan, state)
        if plan.nothing_to_do and known and not after_crash:
            return Prepared(plan)
        await self.jobs.save(self.job)  # who follows it sees how much there is before it is done
        store = await self.open_store(self.mode == "recreate")
        if not keep:
            await self._forget(store)
        elif after_crash or known is None or self.mode == "recreate":
            await self._remove_orphans(store, {*state.records, *plan.process})
        fresh = await store.count(book_filter(self.book.book_id)) == 0
        touched = state.records.keys() & {*plan.process, *plan.deleted}
        await self.catalog.doubt(self.book.book_id, touched)
        return Prepared(plan, store, fresh)

    def _note_plan(self, plan: Plan) -> Plan:
        self.job.total_files = plan.total_files
        self.job.files_to_process = len(plan.process)
        self.on_progress(self.job)
        self.job.files_failed = len(plan.failed)
        self.job.warnings = plan.warnings
        self.job.changes = FileChanges.of(plan.new, plan.modified, plan.deleted)
        return plan

    async def finish(self, store: VectorStore | None, deleted: Sequence[str]) -> None:
        """What is left to do when every file is in."""
        if store is not None:
            for file in deleted:
                await self._delete(store, file)
            await store.optimize(serving=self.serving)
        self.job.files_skipped = self.job.total_files - self.job.files_processed
        self.job.warnings = _shortened(self.job.warnings)
        if self.as_it_was:
            await self.catalog.known.confirm(self.book.book_id, self._source)
        else:  # a file that could not be read is to be tried again
            await self.save_book(seen=None if self.job.files_failed else self.seen)

    async def _note_seen(self, plan: Plan, state: IngestionState) -> None:
        """So that the next run need not read again what this one read for nothing."""
        unchanged = state.records.keys() - {*plan.process, *plan.deleted, *plan.failed}
        # Of a file that stays though the book lacks it, nothing was seen.
        settled = {file: seen for file in unchanged if (seen := plan.seen.get(file))}
        news = {f: seen for f, seen in settled.items() if seen != state.records[f].seen}
        await self.catalog.note_seen(self.book.book_id, news)

    async def _known_book(self) -> BookInfo | None:
        books = await self.catalog.known.all()
        return next((book for book in books if book.book_id == self.book.book_id), None)

    async def _forget(self, store: VectorStore) -> None:
        """What can't stay: vectors of another embedder, with which nobody can search."""
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
        work = PageWork(self.book, store, self.embedder, self.job, self.max_bytes, self.reader)
        self.unsaved: list[IngestionRecord] = []
        try:
            await self._pump(work, plan, fresh)
        except StoreError:
            raise  # nothing more can be written there
        except BaseException:
            await self._save(store)
            raise
        await self._save(store)

    async def _pump(self, work: PageWork, plan: Plan, fresh: bool) -> None:
        """While one batch is being embedded, the next waits behind it and the last is written."""
        embedding: deque[asyncio.Task[Embedded]] = deque()
        files = iter(plan.process)
        try:
            while True:
                batch = await self._read_batch(work, plan, files, fresh)
                if batch:
                    embedding.append(asyncio.create_task(work.embed(batch)))
                if not embedding:
                    return
                if not batch or len(embedding) > BATCHES_AHEAD:
                    await self._write(work, await embedding[0])
                    embedding.popleft()
        finally:
            for task in embedding:
                task.cancel()
            await asyncio.gather(*embedding, return_exceptions=True)

    async def _read_batch(
        self, work: PageWork, plan: Plan, files: Iterator[str], fresh: bool
    ) -> list[PageUpdate]:
        """Enough to embed; of what is embedded already, enough for one write."""
        most = WRITE_CHUNKS_SERVING if self.serving else WRITE_CHUNKS
        pages: list[PageUpdate] = []
        chunks = missing = 0
        for file in files:
            page = await work.read(file, plan.due(file), is_new_book=fresh)
            if page is None:
                continue
            pages.append(page)
            chunks += len(page.chunks)
            missing += page.missing
            if missing >= BATCH_CHUNKS or chunks >= most:
                break
        return pages

    async def _write(self, work: PageWork, batch: Embedded) -> None:
        self.unsaved += await work.write(batch)
        if sum(record.chunk_count for record in self.unsaved) >= SAVE_CHUNKS:
            await self._save(work.store)
        else:  # for whoever follows the job
            await self.jobs.save(self.job)
        self.on_progress(self.job)

    async def _save(self, store: VectorStore) -> None:
        """The database hears of files once the index has them on disk."""
        await store.flush()
        # A known book keeps its old stamp until every file has the new.
        if self.unsaved and not self.book_saved:
            await self.save_book()
            self.book_saved = True
        await self.catalog.save_files(self.unsaved)
        self.unsaved = []
        await self.jobs.save(self.job)

    async def _delete(self, store: VectorStore, file: str, was_known: bool = True) -> None:
        selection = book_filter(self.book.book_id, source_file=file)
        self.job.chunks_deleted += await store.count(selection)
        await store.delete(selection)
        await self.catalog.forget_file(self.book.book_id, file)
        self.job.files_deleted += was_known

    @property
    def _source(self) -> str:
        return self.job.source or str(self.book.root)

    async def save_book(self, seen: str | None = None) -> None:
        """Note the book with the stamp of this run; with what its folder said (`seen`) when all of
        it is in."""
        values: dict[str, Any] = {
            "title": self.book.title,
            "language": self.book.language,
            "base_url": self.book.base_url,
            "source": self._source,
            "collection_name": self.collection,
            "embedding_model": self.embedder.name,
            "dimension": self.embedder.dimension,
            "chunker_version": CHUNKER_VERSION,
            "seen": seen,
        }
        when = "last_incremental_update" if self.mode == "incremental" else "last_full_ingest"
        await self.catalog.save_book(self.book.book_id, {**values, when: now()})


async def forget_missing_files(store: VectorStore, catalog: Catalog, collection: str) -> int:
    """After a rebuild: the next ingest reads again what was lost. Returns how many files."""
    forgotten = 0
    for book in await catalog.known.all():
        if book.collection_name != collection:
            continue
        indexed = await store.facet("source_file", book_filter(book.book_id), limit=1_000_000)
        state = await catalog.state(book.book_id, collection)
        lost = [
            file
            for file, record in state.records.items()
            if indexed.get(file, 0) != record.chunk_count
        ]
        if lost:
            await catalog.doubt(book.book_id, lost)
        for file in lost:
            await catalog.forget_file(book.book_id, file)
        forgotten += len(lost)
    return forgotten


def _shortened(warnings: list[str]) -> list[str]:
    if len(warnings) <= MAX_WARNINGS:
        return warnings
    more = len(warnings) - MAX_WARNINGS
    return [*islice(warnings, MAX_WARNINGS), f"… and {more} more warnings"]
