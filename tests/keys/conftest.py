"""Keys in a database of each kind, and the command line."""

from __future__ import annotations

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.keys import Keys
from cli.conftest import cli as cli


@pytest.fixture
def keys(engine: AsyncEngine) -> Keys:
    return Keys(engine)
