"""Saves everything a library holds to one file, also while others read and write it.

The tables are read in one transaction. A file of a book is saved when index and database agree
about it: at any moment an ingest may be between writing the one and the other.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import Table, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bythebook.database.engine import REVISION
from bythebook.database.session import reason
from bythebook.database.tables import books, files
from bythebook.errors import StoreError
from bythebook.index.qdrant_models import Record
from bythebook.index.store import VectorStore
from bythebook.ingestion.points import book_filter
from bythebook.library import Library
from bythebook.models.chunk import now
from bythebook.models.job import IngestionRecord
from bythebook.moving.backup_file import (
    ABOUT,
    CALIBRATIONS,
    FORMAT,
    BackupManifest,
    SavedBook,
    book_parts,
    kept_tables,
    row_to_json,
    table_part,
)
from bythebook.moving.file_parts import OnStep, PartWriter, point_pages, whole_archive


async def back_up(
    library: Library, file: Path, on_step: OnStep = lambda _what, _done, _all: None
) -> BackupManifest:
    """Write the backup, which appears at its place only when it is whole."""
    with whole_archive(file, library.settings.disk_reserve) as archive:
        manifest = await _Saving(library, PartWriter(archive), on_step).all()
        archive.writestr(ABOUT, manifest.model_dump_json(indent=2))
    return manifest


@dataclass
class _Saving:
    library: Library
    writing: PartWriter
    on_step: OnStep
    rows: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    async def all(self) -> BackupManifest:
        known: dict[str, list[IngestionRecord]] = {}
        saved: dict[str, SavedBook] = {}
        async with snapshot(self.library.engine) as connection:
            for table in kept_tables():
                if table is not files:  # those are written when their passages are
                    await self._table(connection, table)
            for row in (await connection.execute(select(books))).mappings():
                saved[row["book_id"]] = SavedBook(
                    book_id=row["book_id"],
                    embedding_model=row["embedding_model"],
                    dimension=row["dimension"],
                    passages=0,
                )
                known[row["book_id"]] = []
            for row in (await connection.execute(select(files))).mappings():
                known[row["book_id"]].append(IngestionRecord.model_validate(dict(row)))
        agreed: list[IngestionRecord] = []
        store = await self.library.store() if known else None
        for number, (book_id, records) in enumerate(known.items()):
            assert store is not None
            points = self._points(store, saved[book_id], records, agreed)
            passages = await self.writing.points(*book_parts(number), points)
            saved[book_id] = saved[book_id].model_copy(update={"passages": passages})
        lines = (json.dumps(row_to_json(files, each.model_dump())) for each in agreed)
        self.writing.lines(table_part(files), lines)
        self.rows[files.name] = len(agreed)
        calibrations = self.library.settings.home / CALIBRATIONS
        if calibrations.exists():
            with calibrations.open("rb") as content:
                self.writing.copy(CALIBRATIONS, content)
        return BackupManifest(
            format=FORMAT,
            bythebook=version("bythebook"),
            revision=REVISION,
            made_at=now(),
            books=list(saved.values()),
            rows=self.rows,
            left_out=self.left_out,
            has_calibrations=CALIBRATIONS in self.writing.digests,
            sha256=self.writing.digests,
        )

    async def _table(self, connection: AsyncConnection, table: Table) -> None:
        self.on_step(f"Saving {table.name}", 0, 1)
        count = 0
        with self.writing.part(table_part(table)) as write:
            rows = await connection.stream(select(table).order_by(*table.primary_key.columns))
            async for row in rows.mappings():
                write(json.dumps(row_to_json(table, row), ensure_ascii=False).encode() + b"\n")
                count += 1
        self.rows[table.name] = count

    async def _points(
        self,
        store: VectorStore,
        book: SavedBook,
        records: list[IngestionRecord],
        agreed: list[IngestionRecord],
    ) -> AsyncIterator[Record]:
        """The passages of each file that index and database agree about, now or a moment later."""
        for number, record in enumerate(records):
            self.on_step(f"Saving {book.book_id}", number, len(records))
            found = await _of_file(store, record)
            if not _agree(record, found, book):
                newer = await self._now(record)
                found = await _of_file(store, record)
                if newer is None or not _agree(newer, found, book):
                    self.left_out.append(f"{book.book_id}: {record.source_file}")
                    continue
                record = newer
            agreed.append(record)
            for point in found:
                yield point

    async def _now(self, record: IngestionRecord) -> IngestionRecord | None:
        collection = self.library.settings.collection
        state = await self.library.catalog.state(record.book_id, collection)
        return state.records.get(record.source_file)


async def _of_file(store: VectorStore, record: IngestionRecord) -> list[Record]:
    selection = book_filter(record.book_id, source_file=record.source_file)
    return [point async for page in point_pages(store, selection) for point in page]


def _agree(record: IngestionRecord, found: list[Record], book: SavedBook) -> bool:
    """All points of a file are written as one step and carry its time."""
    payloads = [point.payload or {} for point in found]
    return (
        {point.id for point in found} == set(record.chunk_ids)
        and all(payload.get("source_file_hash") == record.file_hash for payload in payloads)
        and all(payload.get("embedding_model") == book.embedding_model for payload in payloads)
        and len({str(payload.get("updated_at")) for payload in payloads}) <= 1
    )


@asynccontextmanager
async def snapshot(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """A connection that sees one state of the database, whoever writes meanwhile."""
    is_sqlite = engine.dialect.name == "sqlite"
    try:
        async with engine.connect() as connection:
            if is_sqlite:
                # Python's driver begins none to read, and each statement would see its own state.
                await connection.exec_driver_sql("BEGIN")
            else:
                await connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection
    except SQLAlchemyError as problem:
        raise StoreError(
            f"The database can't be read: {reason(problem)}.", action="Try again in a moment."
        ) from problem
