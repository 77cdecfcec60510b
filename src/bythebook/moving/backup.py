"""A backup: one file with all tables and the passages of all books.

It is a zip file with `backup.json`, `tables/NAME.jsonl` (a row a line), and for the book number N
`points/N.jsonl` and `vectors/N.f32` as `bythebook export` writes them.

It can be made while others read and write. The tables are read in one transaction. A file of a book
is saved when index and database agree about it: at any moment an ingest may be between writing the
one and the other.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import AwareDatetime, BaseModel, Field
from sqlalchemy import Table, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bythebook.database.engine import REVISION, reason
from bythebook.database.tables import (
    PASSING,
    UtcDateTime,
    allowed_sources,
    books,
    files,
    metadata,
)
from bythebook.errors import InputError, StoreError
from bythebook.index.qdrant_models import Record
from bythebook.index.store import DENSE, SPARSE, VectorStore, all_points, book_filter
from bythebook.library import Library
from bythebook.models.chunk import now
from bythebook.models.job import IngestionRecord
from bythebook.models.passage import is_passage
from bythebook.moving.file_parts import OnStep, PartReader, PartWriter, whole_archive

FORMAT = 1
ABOUT = "backup.json"
# Kept in the home beside database and index.
CALIBRATIONS = "calibrations.json"


class SavedBook(BaseModel):
    """The book of one pair of parts."""

    book_id: str
    embedding_model: str
    dimension: int = Field(ge=1)
    passages: int = Field(ge=0)


class BackupManifest(BaseModel):
    """What the file holds; `sha256` are the digests of its other parts."""

    format: int
    bythebook: str
    revision: str
    made_at: AwareDatetime
    books: list[SavedBook]
    rows: dict[str, int]
    # Files whose passages were being changed; an ingest brings them in again.
    left_out: list[str]
    has_calibrations: bool = False
    sha256: dict[str, str]


def kept_tables() -> list[Table]:
    """Tables with lasting content, in an order in which rows can be inserted."""
    left_out = (*PASSING, allowed_sources)
    return [table for table in metadata.sorted_tables if table not in left_out]


def table_part(table: Table) -> str:
    return f"tables/{table.name}.jsonl"


def book_parts(number: int) -> tuple[str, str]:
    return f"points/{number}.jsonl", f"vectors/{number}.f32"


def row_to_json(table: Table, row: Any) -> dict[str, Any]:
    return {
        column.name: row[column.name].isoformat()
        if isinstance(column.type, UtcDateTime) and row[column.name]
        else row[column.name]
        for column in table.columns
    }


def row_from_json(table: Table, entry: dict[str, Any]) -> dict[str, Any]:
    """Columns that this version does not have, or the file did not have, are left out; a row
    without its key is none."""
    if lacking := {column.name for column in table.primary_key} - set(entry):
        raise KeyError(*lacking)
    return {
        column.name: datetime.fromisoformat(entry[column.name])
        if isinstance(column.type, UtcDateTime) and entry[column.name]
        else entry[column.name]
        for column in table.columns
        if column.name in entry
    }


def open_backup(file: Path) -> tuple[PartReader, BackupManifest]:
    """The open file and what it says of itself; one of another kind or version is refused."""
    reader = PartReader(file, lambda: not_whole(file))
    try:
        return reader, _manifest(reader)
    except BaseException:
        reader.archive.close()
        raise


def _manifest(reader: PartReader) -> BackupManifest:
    manifest = reader.manifest(ABOUT, BackupManifest)
    if manifest.format != FORMAT or manifest.revision > REVISION:
        raise InputError(
            f"{reader.file} was made by bythebook {manifest.bythebook}, which is newer than this "
            f"one ({version('bythebook')}).",
            action="Upgrade bythebook (`pip install --upgrade bythebook`), then restore it.",
        )
    parts = set(part_names(manifest))
    if set(reader.archive.namelist()) != {ABOUT, *parts} or set(manifest.sha256) != parts:
        raise reader.broken()
    return manifest


def part_names(manifest: BackupManifest) -> list[str]:
    names = [f"tables/{name}.jsonl" for name in manifest.rows]
    for number in range(len(manifest.books)):
        names += book_parts(number)
    return [*names, CALIBRATIONS] if manifest.has_calibrations else names


def not_whole(file: Path) -> InputError:
    return InputError(
        f"{file} is not a complete backup of bythebook: it was cut off or changed, or is another "
        "kind of file.",
        action="Use another copy of it; nothing was restored.",
    )


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
    return await all_points(store, selection, with_vectors=[DENSE, SPARSE])


def _agree(record: IngestionRecord, found: list[Record], book: SavedBook) -> bool:
    """All points of a file are written as one step and carry its time."""
    payloads = [point.payload or {} for point in found]
    return (
        {point.id for point in found} == set(record.chunk_ids)
        and all(payload.get("source_file_hash") == record.file_hash for payload in payloads)
        and all(payload.get("embedding_model") == book.embedding_model for payload in payloads)
        and len({str(payload.get("updated_at")) for payload in payloads}) <= 1
        and all(is_passage(point.id, point.payload) for point in found)
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
