from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from qdrant_server import qdrant_server, room_in_memory, shared_folder


@pytest.fixture(scope="session")
def qdrant_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a real server; the test is skipped where there is none."""
    with qdrant_server(shared_folder(tmp_path_factory)) as url:
        yield url


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder for a test's index, in memory where there is room."""
    with tempfile.TemporaryDirectory(dir=room_in_memory() or tmp_path) as folder:
        yield Path(folder)
