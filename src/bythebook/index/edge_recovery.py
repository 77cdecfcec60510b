"""What makes an embedded index whole again: the journal of a write that a crash interrupts, and a
rebuild of what was damaged.

The engine logs written and removed points separately. What does both is first noted in the journal.
"""

from __future__ import annotations

import json
from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import qdrant_edge as edge

from bythebook.errors import BusyError, InputError, StoreError
from bythebook.files import write_atomically
from bythebook.index.edge_folder import create_shard, engine_errors, holds_something, load_shard
from bythebook.index.edge_index import EdgeIndex, to_point
from bythebook.index.qdrant_models import PointStruct, SparseVector, Vector
from bythebook.index.validation import check_points

_JOURNAL = "pending.json"
_PAGE = 1000


def write_journal(folder: Path, points: Sequence[PointStruct], stale: Sequence[str]) -> None:
    """Put the switch on disk for good."""
    plain = [
        {
            "id": point.id,
            "vector": {name: _to_json(vector) for name, vector in point.vector.items()},
            "payload": point.payload,
        }
        for point in points
    ]
    content = json.dumps({"points": plain, "stale": list(stale)})
    write_atomically(folder / _JOURNAL, content)


def read_journal(folder: Path) -> tuple[list[PointStruct], list[str]] | None:
    """The switch that was under way, if one was."""
    path = folder / _JOURNAL
    if not path.exists():
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
    points = [
        PointStruct(
            id=plain["id"],
            vector={name: _from_json(vector) for name, vector in plain["vector"].items()},
            payload=plain["payload"],
        )
        for plain in content["points"]
    ]
    return points, content["stale"]


def clear_journal(folder: Path) -> None:
    """The engine has it."""
    (folder / _JOURNAL).unlink(missing_ok=True)


def _to_json(vector: Vector) -> Any:
    if isinstance(vector, SparseVector):
        return {"indices": list(vector.indices), "values": list(vector.values)}
    # The engine keeps no more digits, and writing them in decimals takes ten times as long.
    return b64encode(array("f", vector)).decode()


def _from_json(plain: Any) -> Vector:
    if isinstance(plain, dict):
        return SparseVector(**plain)
    # Earlier versions wrote decimals.
    return array("f", b64decode(plain)).tolist() if isinstance(plain, str) else plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What a rebuild saved, what it had to leave out (None: it could not be counted), and where
    the damaged folder is kept."""

    points: int
    lost: int | None
    kept_at: Path


def rebuild(path: Path, dimension: int) -> Recovery:
    """Copy what can still be read into a fresh index and put the damaged folder aside.

    With its log moved away a damaged index opens again, but the engine then numbers its writes
    from the start and drops them in silence as older than what it holds. So nothing is ever
    written to such a folder again.
    """
    if not holds_something(path):
        raise StoreError(f"There is no index in {path}.", action="Run `bythebook ingest PATH`.")
    kept_at = path.with_name(f"{path.name}.damaged-{uuid4().hex[:8]}")
    damaged = _load_damaged(path, dimension)
    if damaged is None:
        path.rename(kept_at)
        return Recovery(points=0, lost=None, kept_at=kept_at)
    fresh = path.with_name(f"{path.name}.new-{uuid4().hex}")
    with engine_errors(path):
        try:
            points, lost = _copy(EdgeIndex(path, dimension, damaged), fresh)
        finally:
            damaged.close()
        if (path / _JOURNAL).exists():
            (path / _JOURNAL).replace(fresh / _JOURNAL)
        path.rename(kept_at)
        fresh.rename(path)
    return Recovery(points=points, lost=lost, kept_at=kept_at)


def _load_damaged(path: Path, dimension: int) -> edge.EdgeShard | None:
    """What the engine can still open of it, if anything."""
    try:
        with engine_errors(path):
            return load_shard(path, dimension)
    except BusyError:
        raise
    except StoreError:
        log = path / "wal"
        if log.exists():
            log.rename(path / f"wal.aside-{uuid4().hex[:8]}")
    try:
        with engine_errors(path):
            return load_shard(path, dimension)
    except StoreError:
        return None


def _copy(source: EdgeIndex, path: Path) -> tuple[int, int]:
    """Write every sound point of `source` into a new index; count them and the others."""
    target = create_shard(path, source.dimension)
    good = lost = 0
    offset = None
    while True:
        records, offset = source.scroll(None, _PAGE, offset, True, True)
        sound = []
        for record in records:
            point = PointStruct(id=record.id, vector=record.vector or {}, payload=record.payload)
            try:
                check_points([point], [], source.dimension)
            except InputError:
                lost += 1
            else:
                sound.append(to_point(point))
        if sound:
            target.update(edge.UpdateOperation.upsert_points(sound))
        good += len(sound)
        if offset is None:
            break
    target.flush()
    target.close()
    return good, lost
