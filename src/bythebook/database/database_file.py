"""A database that is a file, by sqlite3 itself: to load SQLAlchemy takes longer than a search."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# The newest migration: a database that says the same needs no look at the migrations.
REVISION = "0008"

# What else an address may say is left to SQLAlchemy.
FILE = re.compile(r"sqlite(?:\+aiosqlite)?:///([^?]+)")

# WAL lets readers go on beside a writer; NORMAL survives a killed process.
PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON")

Rows = list[dict[str, Any]]


def file_of(url: str) -> Path | None:
    """The file that a database address names; none for other databases."""
    found = FILE.fullmatch(url)
    return Path(found[1]) if found and found[1] != ":memory:" else None


def is_up_to_date(file: Path) -> bool:
    """Where in doubt, it is not."""
    return look_into(file, "SELECT version_num FROM alembic_version") == [{"version_num": REVISION}]


def look_into(file: Path, query: str, values: Mapping[str, Any] | None = None) -> Rows | None:
    """Rows as they are stored, read without waiting for anybody; None where that can't be."""
    try:
        with closing(_connect(file, "ro")) as connection:
            return _rows(connection, query, values or {})
    except sqlite3.Error:
        return None


class FileWriter:
    """Changes a file, one statement after the other. The connection is kept: the last to be closed
    makes SQLite tidy up, which takes longer than a statement."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._connection: sqlite3.Connection | None = None

    def change(self, query: str, values: Mapping[str, Any]) -> Rows | None:
        """What the statement returns, done without waiting for anybody; None where that can't be,
        and then nothing was done."""
        stored = {name: _as_stored(value) for name, value in values.items()}
        try:
            if self._connection is None:
                self._connection = _connect(self.file, "rw")
                for pragma in PRAGMAS:
                    self._connection.execute(f"PRAGMA {pragma}")
            return _rows(self._connection, query, stored)
        except sqlite3.Error:
            self.close()
            return None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def as_told(row: dict[str, Any], times: tuple[str, ...], documents: tuple[str, ...]) -> Any:
    """A row as it was meant: as text stand JSON and, in SQLite, times, without their zone, which is
    UTC."""
    told = dict(row)
    for name in times:
        if isinstance(row[name], str):
            told[name] = datetime.fromisoformat(row[name]).replace(tzinfo=UTC)
    for name in documents:
        if isinstance(row[name], str):
            told[name] = json.loads(row[name])
    return told


def _as_stored(value: Any) -> Any:
    """As SQLAlchemy would store it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    return json.dumps(value) if isinstance(value, list | dict) else value


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    address = f"{file.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def _rows(connection: sqlite3.Connection, query: str, values: Mapping[str, Any]) -> Rows:
    return [dict(row) for row in connection.execute(query, values)]
