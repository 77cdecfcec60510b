"""One pending switch of a lesson, written down before it is made.

The embedded engine writes new points and removes old ones in two records of its log. A process
killed between them would leave both in the index, so the whole switch is kept here until the
engine has it on disk, and made again at the next start. Doing it twice changes nothing.
"""

from __future__ import annotations

import json
from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bythebook.durable import write_note
from bythebook.index.models import PointStruct, SparseVector
from bythebook.index.validation import kind

_NAME = "pending.json"


def write(folder: Path, points: Sequence[PointStruct], stale: Sequence[str]) -> None:
    """Put the switch on disk for good."""
    content = {"points": [_plain(point) for point in points], "stale": list(stale)}
    write_note(folder / _NAME, json.dumps(content))


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
