"""Threads on a new database of each kind."""

from __future__ import annotations

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.threads import Threads


@pytest.fixture
def threads(engine: AsyncEngine) -> Threads:
    return Threads(engine)
