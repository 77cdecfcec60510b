"""The folder of an embedded index: opening, creating, removing and rebuilding it."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import qdrant_edge as edge

from bythebook.errors import BookError, BusyError, InputError, StoreError
from bythebook.files import disk_full, is_full, sync_folder
from bythebook.index import edge_journal
from bythebook.index.edge_translation import to_config, to_index, to_point
from bythebook.index.qdrant_models import PointStruct, from_record
from bythebook.index.store import PAYLOAD_INDEXES, other_dimension, other_layout
from bythebook.index.validation import check_points

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

if TYPE_CHECKING:
    from filelock import FileLock


_SEGMENTS = "bythebook.json"
_PAGE = 1000


class IndexInUse(BusyError):
    """Another process has the folder open."""


class EnginePanic(StoreError):
    """The engine gave up in the middle of something; nothing it says after is to be trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What a rebuild saved, what it had to leave out (None: it could not be counted), and where
    the damaged folder is kept."""

    points: int
    lost: int | None
    kept_at: Path


@contextmanager
def engine_errors(path: Path) -> Iterator[None]:
    """Turn whatever the engine raises into an error a person can act on."""
    try:
        yield
    except BookError:
        raise
    except OSError as problem:
        if is_full(problem):
            raise disk_full(path) from problem
        raise StoreError(
            f"The index in {path} could not be read or written: {problem.strerror or problem}.",
            action="Check the free space and the permissions of this folder.",
        ) from problem
    except Exception as problem:
        raise _explain(path, str(problem)) from problem
    except BaseException as problem:
        # Panics derive from BaseException; their class can't be imported to be caught by name.
        if type(problem).__name__ != "PanicException":
            raise
        raise EnginePanic(
            f"The index engine failed on {path}: {problem}.",
            action="Start bythebook again; if it fails once more, run `bythebook doctor --repair`.",
        ) from problem


class ProcessLock:
    """The right to use a folder, for one process at a time; it ends with its process, however that
    ends. The engine has a lock too, but looks at it too late: only to try what another has open
    cuts off files that are being written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def __enter__(self) -> None:
        with engine_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            place = self._path.with_name(f"{self._path.name}.owner")
            handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if sys.platform == "win32":
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(handle)
            raise _in_use(self._path) from problem
        self._handle = handle

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def open_shard(path: Path, dimension: int) -> edge.EdgeShard:
    """Open the folder, or create it when there is none; missing payload indexes are added."""
    if not _holds_something(path):
        _create(path, dimension)
    _check_complete(path)
    with engine_errors(path):
        shard = _load(path, dimension)
        try:
            _add_indexes(shard)
        except BaseException:
            shard.close()
            raise
    note_segments(path)
    return shard


def note_segments(path: Path) -> None:
    """Remember which folders segments are made of: the engine opens without a lost one, be it a
    segment or all its vectors, and says nothing."""
    segments = path / "segments"
    folders = [part for level in ("*", "*/*") for part in segments.glob(level) if part.is_dir()]
    names = sorted(part.relative_to(segments).as_posix() for part in folders)
    note = path / _SEGMENTS
    if _noted(path) != names:
        draft = note.with_suffix(".draft")
        draft.write_text(json.dumps(names), encoding="utf-8")
        draft.replace(note)


def forget_segments(path: Path) -> None:
    """Segments are about to be merged; until that is done any set of them is right."""
    (path / _SEGMENTS).unlink(missing_ok=True)


def missing_segments(path: Path) -> list[str]:
    """Segments, or parts of them, that were there and are not any more."""
    return [name for name in _noted(path) or [] if not (path / "segments" / name).is_dir()]


def remove(path: Path) -> None:
    """Delete the folder."""
    if not path.exists():
        return
    with _folder_lock(path):
        doomed = path.with_name(f"{path.name}.dropped-{uuid4().hex}")
        path.rename(doomed)
        shutil.rmtree(doomed)


def rebuild(path: Path, dimension: int) -> Recovery:
    """Copy what can still be read into a fresh index and put the damaged folder aside.

    With its log moved away a damaged index opens again, but the engine then numbers its writes
    from the start and drops them in silence as older than what it holds. So nothing is ever
    written to such a folder again.
    """
    if not _holds_something(path):
        raise StoreError(f"There is no index in {path}.", action="Run `bythebook ingest PATH`.")
    fresh = path.with_name(f"{path.name}.new-{uuid4().hex}")
    kept_at = path.with_name(f"{path.name}.damaged-{uuid4().hex[:8]}")
    damaged = _load_damaged(path, dimension)
    if damaged is None:
        path.rename(kept_at)
        return Recovery(points=0, lost=None, kept_at=kept_at)
    try:
        with _folder_lock(path), engine_errors(path):
            points, lost = _copy(damaged, fresh, dimension)
            damaged.close()
            edge_journal.move(path, fresh)
            path.rename(kept_at)
            fresh.rename(path)
    finally:
        damaged.close()
    return Recovery(points=points, lost=lost, kept_at=kept_at)


def _load_damaged(path: Path, dimension: int) -> edge.EdgeShard | None:
    """What the engine can still open of it, if anything."""
    try:
        with engine_errors(path):
            return _load(path, dimension)
    except BusyError:
        raise
    except StoreError:
        log = path / "wal"
        if log.exists():
            log.rename(path / f"wal.aside-{uuid4().hex[:8]}")
    try:
        with engine_errors(path):
            return _load(path, dimension)
    except StoreError:
        return None


def _copy(source: edge.EdgeShard, target: Path, dimension: int) -> tuple[int, int]:
    """Write every sound point of `source` into a new index; count them and the others."""
    shard = _create_in(target, dimension)
    good = lost = 0
    offset = None
    while True:
        request = edge.ScrollRequest(
            offset=offset, limit=_PAGE, with_payload=True, with_vector=True
        )
        records, offset = source.scroll(request)
        points = []
        for record in map(from_record, records):
            point = PointStruct(id=record.id, vector=record.vector or {}, payload=record.payload)
            try:
                check_points([point], [], dimension)
            except InputError:
                lost += 1
            else:
                points.append(to_point(point))
        if points:
            shard.update(edge.UpdateOperation.upsert_points(points))
        good += len(points)
        if offset is None:
            break
    shard.flush()
    shard.close()
    return good, lost


def _create(path: Path, dimension: int) -> None:
    """Make the index beside its place and move it there whole, so that no half of one is found."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _folder_lock(path), engine_errors(path):
        if _holds_something(path):
            return
        for left_over in path.parent.glob(f"{path.name}.new-*"):
            shutil.rmtree(left_over)
        for left_over in path.parent.glob(f"{path.name}.dropped-*"):
            shutil.rmtree(left_over)
        fresh = path.with_name(f"{path.name}.new-{uuid4().hex}")
        shard = _create_in(fresh, dimension)
        shard.flush()
        shard.close()
        if path.exists():
            path.rmdir()
        fresh.rename(path)
        sync_folder(path.parent)


def _create_in(path: Path, dimension: int) -> edge.EdgeShard:
    shard = edge.EdgeShard.create(str(path), to_config(dimension))
    _add_indexes(shard)
    return shard


def _add_indexes(shard: edge.EdgeShard) -> None:
    present = shard.info().payload_schema
    missing = [field for field in PAYLOAD_INDEXES if field not in present]
    for field in missing:
        shard.update(to_index(field))
    if missing:
        shard.flush()


def _load(path: Path, dimension: int) -> edge.EdgeShard:
    return edge.EdgeShard.load(str(path), to_config(dimension))


def _check_complete(path: Path) -> None:
    missing = missing_segments(path)
    if missing:
        raise _damaged(path, f"its part {missing[0]} is gone")
    for part in ("segments", "wal"):
        if not _holds_something(path / part):
            raise _damaged(path, f"the folder {part} is gone or empty")


def _noted(path: Path) -> list[str] | None:
    try:
        noted = json.loads((path / _SEGMENTS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as problem:
        raise _damaged(path, f"{_SEGMENTS} can't be read") from problem
    if not isinstance(noted, list):
        raise _damaged(path, f"{_SEGMENTS} can't be read")
    return [str(name) for name in noted]


def _holds_something(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())


def _folder_lock(path: Path) -> FileLock:
    from filelock import FileLock  # slow to import, and seldom needed

    return FileLock(path.with_name(f"{path.name}.lock"), timeout=60)


def _explain(path: Path, text: str) -> BookError:
    if "No space left on device" in text or "quota exceeded" in text:
        return disk_full(path)
    if "WouldBlock" in text:
        return _in_use(path)
    sizes = re.search(r"expected vector size (\d+), but got (\d+)", text)
    if sizes:
        return other_dimension(path.name, stored=int(sizes[2]), asked=int(sizes[1]))
    if "ncompatible config" in text or "config is incompatible" in text:
        return other_layout(path.name)
    return _damaged(path, text)


def _in_use(path: Path) -> IndexInUse:
    return IndexInUse(
        "Another bythebook is using this data folder, and this needs it alone.",
        action="Stop the service or command that uses it, then try again.",
        details={"folder": str(path)},
    )


def _damaged(path: Path, reason: str) -> StoreError:
    return StoreError(
        f"The index in {path} can't be used: {reason}.",
        action="Run `bythebook doctor --repair` to save what can be saved, then ingest again.",
    )
