"""All books behind one object: ingest them, search them, read around a passage."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bythebook.database.engine import Database
from bythebook.embedding.embedder import Embedder, make_embedder
from bythebook.errors import BookError, ConfigurationError, StoreError
from bythebook.files import disk_full, finish_switch, is_full
from bythebook.index.store import StoreInfo, VectorStore, book_filter, make_store
from bythebook.ingestion.catalog import Catalog, KnownBooks, only_book
from bythebook.models.chunk import BookInfo
from bythebook.models.passage import Passage
from bythebook.models.search_messages import SearchQuery
from bythebook.models.values import IngestionMode, check_book_id
from bythebook.reader.reader import Reader
from bythebook.retrieval.calibration import BUILT_IN, is_due
from bythebook.retrieval.neighbours import find_passage, surroundings, whole_lesson, with_vectors
from bythebook.retrieval.opening import opening
from bythebook.retrieval.retriever import Found, Retriever
from bythebook.settings import Settings, load_settings
from bythebook.settings.chosen_model import with_chosen_model

# Imports that only ingests need are late: a question does not wait for them.
if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from bythebook.fetching.crawl import OnFetch
    from bythebook.ingestion.ingest import Ingestion, OnProgress
    from bythebook.ingestion.jobs import Jobs
    from bythebook.ingestion.locks import BookLocks
    from bythebook.models.job import BookChanges, IngestionJob
    from bythebook.reading.document import PageReader
    from bythebook.reading.layout import Book
    from bythebook.runtime import Processes
    from bythebook.sources import Sources

logger = logging.getLogger(__name__)


class Library:
    """Opens each part when it is first needed: a run with nothing to do touches no index."""

    def __init__(self, settings: Settings, database: Database, embedder: Embedder) -> None:
        self.settings = settings
        self.database = database
        self.embedder = embedder
        self.known = KnownBooks(database)
        self.catalog = Catalog(self.known)
        self._store: VectorStore | None = None
        self._searcher: Retriever | None = None
        self._opening = asyncio.Lock()
        self.processes: Processes | None = None

    @classmethod
    async def open(cls, settings: Settings | None = None) -> Self:
        settings = with_chosen_model(settings or load_settings())
        try:
            settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            if is_full(problem):
                raise disk_full(settings.home) from problem
            raise ConfigurationError(
                f"The data folder {settings.home} can't be made: {problem.strerror}.",
                action="Set BYTHEBOOK_HOME to a folder you may write to.",
            ) from problem
        finish_switch(settings.home)
        embedder = make_embedder(settings)
        return cls(settings, await Database.open(settings.database), embedder)

    @property
    def engine(self) -> AsyncEngine:
        return self.database.engine

    @cached_property
    def job_table(self) -> Jobs:
        from bythebook.ingestion.jobs import Jobs

        return Jobs(self.database)

    @cached_property
    def locks(self) -> BookLocks:
        from bythebook.ingestion.locks import FileLocks

        if self.database.is_shared:
            from bythebook.ingestion.locks import DatabaseLocks

            return DatabaseLocks(self.engine)
        return FileLocks(self.settings.home)

    @cached_property
    def sources(self) -> Sources:
        from bythebook.sources import Sources

        return Sources(self.settings, self.database)

    def stay_in_background(self) -> None:
        """Read and embed books in background processes from now on, leaving a core to questions."""
        from bythebook.runtime import Processes  # only a service needs it

        self.processes = Processes(self.settings.embedding_threads)
        self.embedder.stay_in(self.processes)

    @cached_property
    def reader(self) -> Reader | None:
        """Loads its network when first used; None where it is switched off."""
        return None if self.settings.reader == "off" else Reader.open(self.settings)

    @cached_property
    def page_reader(self) -> PageReader:
        """Reads the files of books, in a process with limits unless the sandbox is off."""
        from bythebook.reading.sandbox import make_page_reader

        return make_page_reader(self.settings, last=self.processes is not None)

    async def close(self) -> None:
        if (page_reader := self.__dict__.get("page_reader")) is not None:
            await asyncio.to_thread(page_reader.close)
        if (reader := self.__dict__.get("reader")) is not None:
            await reader.close()
        await self.close_index()
        await self.embedder.close()
        if self.processes:
            await self.processes.close()
        await self.database.close()

    async def close_index(self) -> None:
        """Until it is needed again."""
        async with self._opening:
            if self._store:
                await self._store.close()
                self._store = self._searcher = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def store(self, recreate: bool = False) -> VectorStore:
        """The open index. With `recreate`, one of another dimension is replaced if no other book is
        lost by it, and a damaged one is rebuilt."""
        if self._store is not None:
            return self._store
        # A caller who stops waiting must not leave it half open: nobody could open it again.
        return await asyncio.shield(self._open_store(recreate))

    async def _open_store(self, recreate: bool) -> VectorStore:
        async with self._opening:
            if self._store is None:
                store = make_store(self.settings)
                try:
                    await store.open(self.embedder.dimension)
                except ConfigurationError:
                    if not recreate:
                        raise
                    await self._replace_collection(store)
                except StoreError:
                    if not recreate or self.settings.qdrant_url:
                        raise
                    await self._rebuild(store)
                self._store = store
            return self._store

    async def _replace_collection(self, store: VectorStore) -> None:
        from bythebook.ingestion.plan import check_alone

        check_alone(await self.known.all(), self.settings.collection, self.embedder.dimension)
        await store.drop()
        await store.open(self.embedder.dimension)

    async def ingest(
        self,
        source: Path | str,
        *,
        book_id: str | None = None,
        mode: IngestionMode = "incremental",
        on_progress: OnProgress = lambda _job: None,
        on_fetch: OnFetch = lambda _report: None,
    ) -> IngestionJob:
        """Bring a book's index up to date with its folder, web site or git repository."""
        book, kept = await self.sources.named_book(str(source), book_id, on_fetch)
        async with self._writing(book.book_id):
            job = await self.job_table.start(book.book_id, mode, kept)
            async with self.job_table.failing(job):
                done = await self.ingestion(book, job, on_progress).run()
            await self.measure_background(book.book_id)
            return done

    async def run_job(
        self, job_id: int, *, before: Callable[[], Awaitable[None]] | None = None
    ) -> IngestionJob | None:
        """Do a queued job; None if somebody else has begun it. `before` runs once the book is
        locked, and brings its folder up to date."""
        queued = await self.job_table.get(job_id)
        async with self._writing(queued.book_id):
            if not await self.job_table.claim(job_id):
                return None
            job = await self.job_table.get(job_id)
            async with self.job_table.failing(job):
                book = await self.sources.book_of(job, before)
                done = await self.ingestion(book, job, serving=True).run()
            await self.measure_background(book.book_id)
            return done

    @asynccontextmanager
    async def _writing(self, book_id: str) -> AsyncIterator[None]:
        async with self.locks.writing(book_id):
            await self.fail_interrupted(but=book_id)
            yield

    async def fail_interrupted(self, but: str | None = None) -> None:
        """Mark jobs whose process died as failed; of the book `but`, all that seem to run."""

        async def is_alive(book_id: str) -> bool:
            return book_id != but and await self.locks.is_writing(book_id)

        await self.job_table.fail_interrupted(is_alive)

    def ingestion(
        self,
        book: Book,
        job: IngestionJob,
        on_progress: OnProgress = lambda _job: None,
        *,
        serving: bool = False,
    ) -> Ingestion:
        """An ingest of a book, for a caller that holds its lock."""
        from bythebook.ingestion.ingest import Ingestion

        return Ingestion(
            book=book,
            job=job,
            catalog=self.catalog,
            jobs=self.job_table,
            embedder=self.embedder,
            open_store=self.store,
            collection=self.settings.collection,
            max_bytes=self.max_bytes,
            reader=self.page_reader,
            serving=serving,
            on_progress=on_progress,
        )

    async def changes(self, source: Path | str, *, book_id: str | None = None) -> BookChanges:
        """What an incremental ingest would do, of a site or repository with what was fetched last;
        nothing is written."""
        from bythebook.ingestion.plan import find_changes

        book = await self.sources.kept_book(str(source), book_id)
        known = [other for other in await self.books() if other.book_id == book.book_id]
        return await asyncio.to_thread(
            find_changes,
            book,
            await self.catalog.state(book.book_id, self.settings.collection),
            known[0] if known else None,
            embedding_model=self.embedder.name,
            max_bytes=self.max_bytes,
            reader=self.page_reader,
        )

    async def measure_background(self, book_id: str) -> None:
        """Measure how the book scores everyday questions. Answers work without it, so a failure is
        only logged. Only the calibration of the built-in embedder uses it."""
        if self.embedder.name != BUILT_IN or not is_due(book := await self.known.get(book_id)):
            return
        try:
            background = await (await self.searcher()).background(book)
            await self.catalog.save_book(book_id, {"background": background.model_dump()})
        except BookError as problem:
            logger.warning("What %s says of everyday questions is unknown: %s", book_id, problem)

    @property
    def max_bytes(self) -> int:
        return self.settings.max_file_mb * 1_000_000

    async def search(self, query: SearchQuery) -> Found:
        """The passages that fit a question best."""
        return await (await self.searcher()).search(query)

    async def opening(self, book_id: str) -> list[Passage]:
        """The first passages of the pages that open the book."""
        return await opening(await self.store(), book_id, await self.known.files(book_id))

    async def with_vectors(self, passages: Sequence[Passage]) -> list[Passage]:
        """The same passages with their vectors."""
        return await with_vectors(await self.store(), passages)

    async def searcher(self) -> Retriever:
        store = await self.store()
        if self._searcher is None:
            self._searcher = Retriever(store, self.embedder, self.known, self.settings.home)
        return self._searcher

    async def context(
        self, book_id: str, chunk_id: str, before: int = 1, after: int = 1
    ) -> list[Passage]:
        """A passage and its neighbours in reading order."""
        store = await self.store()
        passage = await find_passage(store, book_id, chunk_id)
        return await surroundings(store, book_id, passage, before, after)

    async def lesson(self, book_id: str, parent_doc_id: str) -> list[Passage]:
        """Every passage of a lesson in reading order."""
        return await whole_lesson(await self.store(), book_id, parent_doc_id)

    async def books(self) -> list[BookInfo]:
        return await self.known.all()

    async def book(self, book_id: str | None = None) -> BookInfo:
        """A book by its id; without one the configured or the only book."""
        wanted = self._named(book_id)
        return await self.known.get(wanted) if wanted else only_book(await self.books())

    async def recent_books(self) -> list[BookInfo]:
        """The books as they were at most a second ago."""
        return await self.known.recent()

    async def recent_book(self, book_id: str | None = None) -> BookInfo:
        """As `book`, from `recent_books`."""
        if wanted := self._named(book_id):
            return await self.known.get_recent(wanted)
        return only_book(await self.recent_books())

    def _named(self, book_id: str | None) -> str | None:
        return self.settings.book_id if book_id is None else check_book_id(book_id)

    async def remove_book(self, book_id: str) -> BookInfo:
        """Take a book out of the index, and what was fetched for it alone; its folder stays."""
        book = await self.known.get(book_id)
        async with self.locks.writing(book_id):
            store = await self.store()
            await store.delete(book_filter(book_id))
            await self.catalog.forget_book(book_id)
            await store.optimize(serving=self.processes is not None)
        await self.sources.forget_book(book, await self.books())
        return book

    async def jobs(
        self, book_id: str | None = None, limit: int = 50, *, books: Collection[str] | None = None
    ) -> list[IngestionJob]:
        """Newest first; those whose process died are shown as failed."""
        await self.fail_interrupted()
        return await self.job_table.list(book_id, limit, books=books)

    async def job(self, job_id: int) -> IngestionJob:
        await self.fail_interrupted()
        return await self.job_table.get(job_id)

    async def repair_index(self) -> str:
        """Rebuild a damaged embedded index from what is readable; tells what came of it."""
        async with self._opening:
            store = make_store(self.settings)
            try:
                return await self._rebuild(store)
            finally:
                await store.close()

    async def _rebuild(self, store: VectorStore) -> str:
        from bythebook.ingestion.ingest import forget_missing_files

        done = await store.recover(self.embedder.dimension)
        if done is None:
            return "a Qdrant server repairs itself; nothing to do"
        await store.open(self.embedder.dimension)
        missing = await forget_missing_files(store, self.catalog, self.settings.collection)
        again = f"; {missing} files must be ingested again" if missing else ""
        return f"{done.points} passages saved{again}; the damaged index is kept in {done.kept_at}"

    async def index_info(self) -> StoreInfo:
        return await (await self.store()).info()


def sample_book() -> Path:
    """The folder of the book that ships with bythebook."""
    return Path(str(resources.files("bythebook") / "sample_book"))
