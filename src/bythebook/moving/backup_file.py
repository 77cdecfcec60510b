"""A backup as one file: all tables, and the passages of all books.

A zip file with `backup.json`, `tables/NAME.jsonl` (a row a line), and for the book number N
`points/N.jsonl` and `vectors/N.f32` as `bythebook export` writes them.
"""

from __future__ import annotations

import zipfile
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import AwareDatetime, BaseModel, Field, ValidationError
from sqlalchemy import Table

from bythebook.database.engine import REVISION
from bythebook.database.tables import PASSING, UtcDateTime, allowed_sources, metadata
from bythebook.errors import InputError
from bythebook.moving.archive import opened
from bythebook.moving.file_parts import DAMAGED, LONGEST_LINE, unpacked_sizes

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


def open_backup(file: Path) -> tuple[zipfile.ZipFile, BackupManifest]:
    """The open file and what it says of itself; one of another kind or version is refused."""
    try:
        archive = opened(file)
    except InputError as problem:
        raise not_whole(file) if file.exists() else problem from problem
    try:
        return archive, _manifest(archive, file)
    except BaseException:
        archive.close()
        raise


def _manifest(archive: zipfile.ZipFile, file: Path) -> BackupManifest:
    try:
        sizes = unpacked_sizes(archive, file)
        if sizes is None or sizes[ABOUT] > LONGEST_LINE:
            raise not_whole(file)
        manifest = BackupManifest.model_validate_json(archive.read(ABOUT))
    except (ValidationError, *DAMAGED) as problem:
        raise not_whole(file) from problem
    if manifest.format != FORMAT or manifest.revision > REVISION:
        raise InputError(
            f"{file} was made by bythebook {manifest.bythebook}, which is newer than this one "
            f"({version('bythebook')}).",
            action="Upgrade bythebook (`pip install --upgrade bythebook`), then restore it.",
        )
    parts = set(part_names(manifest))
    if set(sizes) != {ABOUT, *parts} or set(manifest.sha256) != parts:
        raise not_whole(file)
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
