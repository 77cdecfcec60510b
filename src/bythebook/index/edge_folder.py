"""The folder of an embedded index: who may use it, what is in it, and room to write."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import qdrant_edge as edge

from bythebook.errors import BookError, BusyError, DiskFull, StoreError
from bythebook.files import (
    allocate_ahead,
    check_room,
    disk_full,
    disk_usage,
    folder_usage,
    is_full,
    sync_folder,
)
from bythebook.index.qdrant_models import PointStruct
from bythebook.index.store import (
    DENSE,
    PAYLOAD_INDEXES,
    SPARSE,
    TENANT,
    other_dimension,
    other_layout,
)

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_SEGMENTS = "bythebook.json"
# About 5,000 passages: less is small in memory too.
_LARGE_KB = 7_500


class IndexInUse(BusyError):
    """Another process has the folder open."""


class EnginePanic(StoreError):
    """The engine gave up in the middle of something; nothing it says after is to be trusted."""


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


class ProcessLock:
    """The right to use a folder, for one process at a time; it ends with its process, however that
    ends. All functions below need it. The engine has a lock too, but looks at it too late: only to
    try what another has open cuts off files that are being written."""

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
    if not holds_something(path):
        _create(path, dimension)
    _check_complete(path)
    shard = load_shard(path, dimension)
    try:
        _add_indexes(shard)
        note_segments(path)
    except BaseException:
        shard.close()
        raise
    return shard


def load_shard(path: Path, dimension: int) -> edge.EdgeShard:
    return edge.EdgeShard.load(str(path), _config(dimension))


def create_shard(path: Path, dimension: int) -> edge.EdgeShard:
    shard = edge.EdgeShard.create(str(path), _config(dimension))
    _add_indexes(shard)
    return shard


def remove(path: Path) -> None:
    """Delete the folder."""
    if path.exists():
        doomed = path.with_name(f"{path.name}.dropped-{uuid4().hex}")
        path.rename(doomed)
        shutil.rmtree(doomed)


def holds_something(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())


def _create(path: Path, dimension: int) -> None:
    """Make the index beside its place and move it there whole, so that no half of one is found."""
    for end in ("new", "dropped"):
        for left_over in path.parent.glob(f"{path.name}.{end}-*"):
            shutil.rmtree(left_over)
    fresh = path.with_name(f"{path.name}.new-{uuid4().hex}")
    shard = create_shard(fresh, dimension)
    shard.flush()
    shard.close()
    if path.exists():
        path.rmdir()
    fresh.rename(path)
    sync_folder(path.parent)


def _config(dimension: int) -> edge.EdgeConfig:
    """No graph is built, and there is a write-ahead log. What has grown large is, when asked to
    tidy up, rewritten so that it is read from the disk's cache instead of held in memory, and its
    vectors also rounded to bytes."""
    cold = edge.Memory.Cold
    dense = edge.EdgeVectorParams(
        size=dimension,
        distance=edge.Distance.Cosine,
        memory=cold,
        quantization_config=edge.ScalarQuantizationConfig(type=edge.ScalarType.Int8, memory=cold),
    )
    return edge.EdgeConfig(
        vectors={DENSE: dense},
        sparse_vectors={
            SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=cold)
        },
        payload_memory=cold,
        id_tracker_memory=cold,
        hnsw_config=edge.HnswIndexConfig(
            m=0, payload_m=0, ef_construct=4, full_scan_threshold=_LARGE_KB
        ),
        optimizers=edge.EdgeOptimizersConfig(
            indexing_threshold=_LARGE_KB, default_segment_number=1, vacuum_min_vector_number=100
        ),
        wal_enabled=True,
    )


def _add_indexes(shard: edge.EdgeShard) -> None:
    present = shard.info().payload_schema
    missing = [field for field in PAYLOAD_INDEXES if field not in present]
    for field in missing:
        params: edge.IntegerIndexParams | edge.KeywordIndexParams
        if PAYLOAD_INDEXES[field] == "integer":
            params = edge.IntegerIndexParams(lookup=True, range=True, memory=edge.Memory.Cold)
        else:
            params = edge.KeywordIndexParams(is_tenant=field == TENANT, memory=edge.Memory.Cold)
        shard.update(edge.UpdateOperation.create_field_index(field, params))
    if missing:
        shard.flush()


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
    return [name for name in _noted(path) if not (path / "segments" / name).is_dir()]


def _noted(path: Path) -> list[str]:
    try:
        noted = json.loads((path / _SEGMENTS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except ValueError as problem:
        raise _damaged(path, f"{_SEGMENTS} can't be read") from problem
    if not isinstance(noted, list):
        raise _damaged(path, f"{_SEGMENTS} can't be read")
    return [str(name) for name in noted]


def _check_complete(path: Path) -> None:
    missing = missing_segments(path)
    if missing:
        raise _damaged(path, f"its part {missing[0]} is gone")
    for part in ("segments", "wal"):
        if not holds_something(path / part):
            raise _damaged(path, f"the folder {part} is gone or empty")


# To open or make an index, and to remove from one.
SMALL_WRITE = 2_000_000
# Files of this size hold passages, vectors or the log; the smaller ones a value for each point.
LARGE_FILE = 8 * 2**20
# Behind what is asked for, in each file.
MARGIN = 2**14
# The most that one point adds to a small file: a value, where it is, or a bit.
BYTES_PER_POINT = 256
FEWER_BYTES_PER_POINT = {"tracker.dat": 32, "bitmask.dat": 1, "flags_a.dat": 1, "flags_b.dat": 1}
# Written to the journal, the log and its place, and moved when a place is too small.
COPIES_OF_A_WRITE = 4


def make_room(path: Path, points: Sequence[PointStruct], dimension: int, reserve: int) -> None:
    """Raise DiskFull unless these points can be written and the reserve stays."""
    size = sum(len(repr(point.payload)) + 12 * dimension for point in points)
    files = list(_ahead(path, len(points), size))
    check_room(path, reserve, COPIES_OF_A_WRITE * size + SMALL_WRITE)
    allocate_ahead(files)


def make_little_room(path: Path) -> None:
    """The same for what writes next to nothing; it may use the reserve."""
    check_room(path, 0, SMALL_WRITE)
    allocate_ahead(_ahead(path, 0, 0))


def has_room_for_another(path: Path, reserve: int) -> bool:
    """Whether all of the index can be written once more."""
    try:
        check_room(path, reserve, folder_usage(path) + SMALL_WRITE)
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
                small = points * FEWER_BYTES_PER_POINT.get(file.name, BYTES_PER_POINT)
                yield file, MARGIN + (2 * size if large else small)
