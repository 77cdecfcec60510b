from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared_server import room_in_memory


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder for a test's index, in memory where there is room."""
    with tempfile.TemporaryDirectory(dir=room_in_memory() or tmp_path) as folder:
        yield Path(folder)
