"""What is asked of a database, whichever way it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.engine import reader_of


@contextmanager
def each_statement(engine: AsyncEngine, done: Callable[[str], Any]) -> Iterator[None]:
    """Calls `done` before every statement."""

    def before(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        done(statement)

    asked = [engine.sync_engine, *filter(None, [reader_of(engine)])]
    for one in asked:
        event.listen(one, "before_cursor_execute", before)
    try:
        yield
    finally:
        for one in asked:
            event.remove(one, "before_cursor_execute", before)
