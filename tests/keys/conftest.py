"""Keys in a database of each kind, and the command line."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.engine import open_database
from bythebook.keys import Keys
from cli.conftest import cli as cli


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = await open_database(database_url)
    yield opened
    await opened.dispose()


@pytest.fixture
def keys(engine: AsyncEngine) -> Keys:
    return Keys(engine)
