"""What is asked of a database, whichever way it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database import database_file
from bythebook.database.database_file import FileWriter
from bythebook.database.transaction import reader_of


@contextmanager
def each_statement(engine: AsyncEngine, done: Callable[[str], Any]) -> Iterator[None]:
    """Calls `done` before every statement."""

    def before(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        done(statement)

    def look_into(file: Path, query: str, *values: Any) -> list[dict[str, Any]] | None:
        done(query)
        return database_file.look_into(file, query, *values)

    def change(writer: FileWriter, query: str, values: Any) -> list[dict[str, Any]] | None:
        done(query)
        return unwatched(writer, query, values)

    unwatched = FileWriter.change
    asked = [engine.sync_engine, *filter(None, [reader_of(engine)])]
    for one in asked:
        event.listen(one, "before_cursor_execute", before)
    try:
        with (
            patch("bythebook.database.database.look_into", look_into),
            patch.object(FileWriter, "change", change),
        ):
            yield
    finally:
        for one in asked:
            event.remove(one, "before_cursor_execute", before)
