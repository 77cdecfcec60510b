"""Looking into a database that is a file, by sqlite3 itself: to load SQLAlchemy takes longer than
a search."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

# The newest migration: a database that says the same needs no look at the migrations.
REVISION = "0006"

# What else an address may say is left to SQLAlchemy.
FILE = re.compile(r"sqlite(?:\+aiosqlite)?:///([^?]+)")


def file_of(url: str) -> Path | None:
    """The file that a database address names; none for other databases."""
    found = FILE.fullmatch(url)
    return Path(found[1]) if found and found[1] != ":memory:" else None


def is_up_to_date(file: Path) -> bool:
    """Where in doubt, it is not."""
    return look_into(file, "SELECT version_num FROM alembic_version") == [{"version_num": REVISION}]


def look_into(
    file: Path, query: str, values: Mapping[str, Any] | None = None
) -> list[dict[str, Any]] | None:
    """Rows as they are stored, read without waiting for anybody; None where that can't be."""
    address = f"{file.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, values or {})]
    except sqlite3.Error:
        return None
