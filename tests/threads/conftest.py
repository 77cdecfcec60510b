"""Threads on a new database of each kind."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.engine import open_database
from bythebook.threads.threads import Threads


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = await open_database(database_url)
    yield opened
    await opened.dispose()


@pytest.fixture
def threads(engine: AsyncEngine) -> Threads:
    return Threads(engine)
