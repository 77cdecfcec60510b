"""What must be sure before the embedded engine writes: the pending switch, and room on the disk."""

from __future__ import annotations

import json
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bythebook.errors import DiskFull
from bythebook.files import (
    allocate_ahead,
    check_room,
    disk_usage,
    folder_usage,
    write_atomically,
)
from bythebook.index.qdrant_models import PointStruct, SparseVector
from bythebook.index.validation import kind

_NAME = "pending.json"


def write(folder: Path, points: Sequence[PointStruct], stale: Sequence[str]) -> None:
    """Put the switch on disk for good."""
    content = {"points": [_plain(point) for point in points], "stale": list(stale)}
    write_atomically(folder / _NAME, json.dumps(content))


def read(folder: Path) -> tuple[list[PointStruct], list[str]] | None:
    """The switch that was under way, if one was."""
    path = folder / _NAME
    if not path.exists():
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
    return [_point(part) for part in content["points"]], content["stale"]


def clear(folder: Path) -> None:
    """The engine has it."""
    (folder / _NAME).unlink(missing_ok=True)


def move(source: Path, target: Path) -> None:
    """Carry a pending switch over to another folder."""
    if (source / _NAME).exists():
        (source / _NAME).replace(target / _NAME)


def _plain(point: PointStruct) -> dict[str, Any]:
    vectors: dict[str, Any] = {}
    for name, vector in point.vector.items():
        if kind(vector) == "SparseVector":
            assert not isinstance(vector, Sequence)
            indices = [int(index) for index in vector.indices]
            values = [float(value) for value in vector.values]
            vectors[name] = {"indices": indices, "values": values}
        else:
            assert not isinstance(vector, SparseVector)
            # The engine keeps no more digits, and writing them in decimals takes ten times as long.
            vectors[name] = b64encode(array("f", vector)).decode()
    return {"id": point.id, "vector": vectors, "payload": point.payload}


def _point(part: dict[str, Any]) -> PointStruct:
    vectors = {name: _vector(vector) for name, vector in part["vector"].items()}
    return PointStruct(id=part["id"], vector=vectors, payload=part["payload"])


def _vector(plain: Any) -> Sequence[float] | SparseVector:
    if isinstance(plain, dict):
        return SparseVector(**plain)
    # Earlier versions wrote decimals.
    return array("f", b64decode(plain)).tolist() if isinstance(plain, str) else plain


# To open or make an index, and to remove from one.
LITTLE = 2_000_000
# Files of this size hold passages, vectors or the log; the smaller ones a value for each point.
LARGE_FILE = 8 * 2**20
# Behind what is asked for, in each file.
SLACK = 2**14
# The most that one point adds to a small file: a value, where it is, or a bit.
VALUE = 256
LESS = {"tracker.dat": 32, "bitmask.dat": 1, "flags_a.dat": 1, "flags_b.dat": 1}
# Written to the journal, the log and its place, and moved when a place is too small.
TIMES = 4


def make_room(path: Path, points: Sequence[PointStruct], dimension: int, reserve: int) -> None:
    """Raise DiskFull unless these points can be written and the reserve stays."""
    size = sum(len(repr(point.payload)) + 12 * dimension for point in points)
    files = list(_ahead(path, len(points), size))
    check_room(path, reserve, TIMES * size + LITTLE)
    allocate_ahead(files)


def make_little_room(path: Path) -> None:
    """The same for what writes next to nothing; it may use the reserve."""
    check_room(path, 0, LITTLE)
    allocate_ahead(_ahead(path, 0, 0))


def has_room_for_another(path: Path, reserve: int) -> bool:
    """Whether all of the index can be written once more."""
    try:
        check_room(path, reserve, folder_usage(path) + LITTLE)
    except DiskFull:
        return False
    return True


def _ahead(path: Path, points: int, size: int) -> Iterator[tuple[Path, int]]:
    """Files with holes, and how much of them must be there."""
    for folder in ("segments", "wal"):
        for file in (path / folder).rglob("*"):
            if not file.is_file():
                continue
            status = file.stat()
            if disk_usage(status) < status.st_size:
                large = status.st_size >= LARGE_FILE
                small = points * LESS.get(file.name, VALUE)
                yield file, SLACK + (2 * size if large else small)
