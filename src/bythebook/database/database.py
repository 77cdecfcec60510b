"""A database with today's tables, wherever it is."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bythebook.database.database_file import FileWriter, Rows, file_of, is_up_to_date, look_into

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine


class Database:
    """What a search, or an ingest with nothing to do, needs of a file is done without an engine;
    that is made when first wanted."""

    def __init__(self, url: str, file: Path | None) -> None:
        self.url = url
        self.file = file
        self._writer = FileWriter(file) if file else None

    @classmethod
    async def open(cls, url: str) -> Self:
        """Brought up to date; a newer database is refused."""
        database = cls(url, file_of(url))
        if database.file is None or not is_up_to_date(database.file):
            from bythebook.database.engine import open_database

            database.engine = await open_database(url)
        return database

    @cached_property
    def engine(self) -> AsyncEngine:
        from bythebook.database.engine import make_engine

        return make_engine(self.url)

    @property
    def is_shared(self) -> bool:
        """Whether it is on a server, for others to use as well."""
        return self.file is None and self.engine.dialect.name == "postgresql"

    async def look_up(self, query: str, **values: Any) -> Rows:
        """The few rows that an index leads to, as they are stored. A file has them sooner than a
        thread that could be asked for them, unless it is held by somebody."""
        if self.file and (found := look_into(self.file, query, values)) is not None:
            return found
        from bythebook.database.transaction import execute, reading

        async with reading(self.engine) as connection:
            return await execute(connection, query, values)

    async def change(self, query: str, **values: Any) -> Rows:
        """What one statement that writes returns. Who has an engine has other writers as well, who
        queue for it."""
        alone = None if "engine" in self.__dict__ else self._writer
        if alone and (found := alone.change(query, values)) is not None:
            return found
        from bythebook.database.transaction import execute, transaction

        async with transaction(self.engine) as connection:
            return await execute(connection, query, values)

    async def close(self) -> None:
        if self._writer:
            self._writer.close()
        if "engine" in self.__dict__:
            await self.engine.dispose()
