"""Puts a backup in place: everything, or nothing.

What belongs into the home is made ready in a folder inside it and switched in as one step. What
belongs onto servers must find them empty; there the database's one transaction comes last, and
without its rows nothing in the index counts.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from sqlalchemy import Table, func, insert, select, text, update
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bythebook.database.engine import database_address, open_database, reading
from bythebook.database.tables import allowed_sources, books, jobs, keys
from bythebook.errors import ConfigurationError, InputError
from bythebook.files import is_pending, switch
from bythebook.index.store import book_filter, index_folder, make_exclusive_store, make_store
from bythebook.ingestion.jobs import INTERRUPTED
from bythebook.keys import ApiKey
from bythebook.library import Library
from bythebook.models.chunk import now
from bythebook.models.values import check_book_id
from bythebook.moving.backup import (
    CALIBRATIONS,
    BackupManifest,
    book_parts,
    kept_tables,
    open_backup,
    part_names,
    row_from_json,
    table_part,
)
from bythebook.moving.file_parts import WRONG, OnStep, PartReader
from bythebook.moving.migration import go_on_counting
from bythebook.settings import Settings

ROWS = 200
# A conversation is one row.
LONGEST_ROW = 2**30


async def restore(
    settings: Settings,
    file: Path,
    *,
    force: bool = False,
    on_step: OnStep = lambda _what, _done, _all: None,
) -> BackupManifest:
    """Check the whole file, then put it in place. With `force` what is in the home goes aside."""
    reader, manifest = await asyncio.to_thread(open_backup, file)
    with reader:
        on_step("Checking", 0, 1)
        await asyncio.to_thread(reader.check_digests, part_names(manifest), manifest.sha256)
        async with await Library.open(settings) as library:
            was_empty = await _check_target(library, manifest, force)
            allowed = await library.database.look_up(select(allowed_sources))
        aside = settings.home / f"replaced-{now():%Y%m%d-%H%M%S}-{uuid4().hex[:4]}"
        await _Restoring(settings, manifest, reader, allowed, on_step).all(aside)
        if was_empty:  # only empty tables and an empty index
            await asyncio.to_thread(shutil.rmtree, aside, True)
    return manifest


async def _check_target(library: Library, manifest: BackupManifest, force: bool) -> bool:
    """The embedder must be the one of the books, and nobody may be using the home. Returns whether
    nothing is there, which is a must without `force`."""
    others = {book.embedding_model for book in manifest.books} - {library.embedder.name}
    if others:
        raise ConfigurationError(
            f"The books were indexed with {', '.join(sorted(others))}, and the embedder here "
            f"is {library.embedder.name}.",
            action="Set BYTHEBOOK_EMBEDDER to the same, then restore again.",
        )
    on_servers = bool(library.settings.qdrant_url) or library.engine.dialect.name != "sqlite"
    if await _is_empty(library.engine):
        if not library.settings.qdrant_url and index_folder(library.settings).exists():
            await _check_alone(library)
        return True
    if not force or on_servers:
        raise InputError(
            "There are books, conversations or keys already.",
            action="Restore to an empty database and another QDRANT_COLLECTION_NAME."
            if on_servers
            else "Restore to another BYTHEBOOK_HOME, or give --force to put what is there aside.",
        )
    await _check_alone(library)
    return False


async def _check_alone(library: Library) -> None:
    """Another process would go on with files that are not there any more."""
    store = make_exclusive_store(library.settings)
    await store.open(library.embedder.dimension)
    await store.close()


async def _is_empty(engine: AsyncEngine) -> bool:
    async with reading(engine) as connection:
        for table in kept_tables():
            query = select(func.count()).select_from(table)
            if (await connection.execute(query)).scalar_one():
                return False
    return True


def _checked(table: Table, row: dict[str, object]) -> dict[str, object]:
    """A row that the database would take and nobody could read again is none."""
    if table is keys:
        ApiKey.model_validate({name: row[name] for name in row if name != "secret_hash"})
    elif table is books:
        check_book_id(str(row["book_id"]))
    return row


@dataclass
class _Restoring:
    settings: Settings
    manifest: BackupManifest
    reader: PartReader
    allowed: list[dict[str, object]]  # where this machine may read books from
    on_step: OnStep

    def __post_init__(self) -> None:
        self.ready = self.settings.home / f"restoring-{uuid4().hex[:8]}"

    async def all(self, aside: Path) -> None:
        home = self.settings.home
        for left_over in home.glob("restoring-*"):
            await asyncio.to_thread(shutil.rmtree, left_over)
        self.ready.mkdir(parents=True)
        moves: dict[Path, Path] = {}
        try:
            # The same settings, but for the places that are made ready first.
            ready = self.settings.model_copy(update={"home": self.ready})
            await self._points(ready)
            if not self.settings.qdrant_url and self.manifest.books:
                moves[index_folder(ready)] = index_folder(self.settings)
            if self.manifest.has_calibrations:
                calibrations = self.ready / CALIBRATIONS
                calibrations.write_bytes(self.reader.archive.read(CALIBRATIONS))
                moves[calibrations] = home / CALIBRATIONS
            address = database_address(self.settings.database)
            if address.get_backend_name() == "sqlite":
                database = self.ready / "bythebook.db"
                await self._rows(f"sqlite+aiosqlite:///{database}")
                moves[database] = Path(address.database or "")
                await asyncio.to_thread(switch, home, moves, aside)
            else:
                await asyncio.to_thread(switch, home, moves, aside)
                await self._rows(self.settings.database)
        finally:
            if not is_pending(home):
                await asyncio.to_thread(shutil.rmtree, self.ready, True)

    async def _points(self, settings: Settings) -> None:
        """All books into the index; what a restore that was killed left of them goes first."""
        if not self.manifest.books:
            return
        store = make_store(settings)
        await store.open(self.manifest.books[0].dimension)
        try:
            for number, book in enumerate(self.manifest.books):
                await store.delete(book_filter(book.book_id))
                done = 0
                for page in self.reader.points(
                    *book_parts(number),
                    book_id=book.book_id,
                    dimension=book.dimension,
                    passages=book.passages,
                ):
                    await store.replace(page, [], durable=False)
                    done += len(page)
                    self.on_step(f"Restoring {book.book_id}", done, book.passages)
                await store.flush()
        finally:
            await store.close()

    async def _rows(self, database: str) -> None:
        engine = await open_database(database)
        try:
            async with engine.begin() as connection:
                for table in kept_tables():
                    await self._table(connection, table)
                await connection.execute(
                    update(books).values(collection_name=self.settings.collection)
                )
                await connection.execute(
                    update(jobs)
                    .where(jobs.c.status == "running")
                    .values(status="failed", completed_at=now(), error_message=INTERRUPTED)
                )
                await go_on_counting(connection)
                if self.allowed and engine.dialect.name == "sqlite":  # a new file takes its place
                    await connection.execute(insert(allowed_sources), self.allowed)
            if engine.dialect.name == "sqlite":
                async with engine.connect() as connection:
                    await connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
        finally:
            await engine.dispose()

    async def _table(self, connection: AsyncConnection, table: Table) -> None:
        if table.name not in self.manifest.rows:  # one that is newer than the backup
            return
        rows: list[dict[str, object]] = []
        total = 0
        for line in self.reader.lines(table_part(table), LONGEST_ROW):
            try:
                rows.append(_checked(table, row_from_json(table, json.loads(line))))
            except (*WRONG, InputError) as problem:
                raise self.reader.broken() from problem
            total += 1
            if len(rows) == ROWS:
                await self._insert(connection, table, rows)
                rows = []
        if rows:
            await self._insert(connection, table, rows)
        if total != self.manifest.rows[table.name]:
            raise self.reader.broken()

    async def _insert(
        self, connection: AsyncConnection, table: Table, rows: list[dict[str, object]]
    ) -> None:
        try:
            await connection.execute(insert(table), rows)
        except (DataError, IntegrityError) as problem:  # no row of this table
            raise self.reader.broken() from problem
