"""Files: written atomically, several replaced in one step, with room left on the disk."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile

from bythebook.errors import DiskFull, InputError

_SWITCH = "switch.json"  # in the home, while a switch is under way
# The reserve is no more than this part of a small disk.
MAX_RESERVE_SHARE = 0.05
FULL = {errno.ENOSPC, errno.EDQUOT}


def write_atomically(file: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Replace the file as one step. Only the user may read it, from its first byte on. Without
    `durable` a power failure may undo it."""
    data = content.encode() if isinstance(content, str) else content
    # A temporary file has the mode 0600.
    with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as draft:
        try:
            draft.write(data)
            draft.flush()
            if durable:
                os.fsync(draft.fileno())
            draft.close()
            Path(draft.name).replace(file)
        except BaseException:
            draft.close()
            Path(draft.name).unlink(missing_ok=True)
            raise
    if durable:
        sync_folder(file.parent)


def write_named(file: Path, content: bytes, *, action: str, field: str = "") -> None:
    """Write the file that a person named; `action` says what to do where it can't be written."""
    try:
        file.write_bytes(content)
    except OSError as problem:
        raise InputError(
            f"{file} can't be written: {problem.strerror or problem}.",
            action=action,
            details={"field": field} if field else {},
        ) from problem


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder survive a power failure, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def switch(home: Path, moves: dict[Path, Path], aside: Path) -> None:
    """Move each source to its target; what is at a target goes to the folder `aside`."""
    content = {
        "aside": str(aside),
        "moves": {str(source): str(target) for source, target in moves.items()},
    }
    write_atomically(home / _SWITCH, json.dumps(content))
    finish_switch(home)


def is_pending(home: Path) -> bool:
    """Whether a switch was begun and not finished; the files it moves must stay where they are."""
    return (home / _SWITCH).exists()


def finish_switch(home: Path) -> None:
    """Finish a switch that was interrupted, if there is one."""
    if not is_pending(home):
        return
    from filelock import FileLock  # slow to import, and seldom needed

    with FileLock(home / "switch.lock", timeout=60):
        if not is_pending(home):
            return
        note = home / _SWITCH
        content = json.loads(note.read_text(encoding="utf-8"))
        aside = Path(content["aside"])
        aside.mkdir(parents=True, exist_ok=True)
        for source, target in content["moves"].items():
            _move(Path(source), Path(target), aside)
        note.unlink()


def _move(source: Path, target: Path, aside: Path) -> None:
    if not source.exists():  # done before
        return
    # A database has files beside it that belong to the old one only.
    for old in (target, *(target.with_name(f"{target.name}{end}") for end in ("-wal", "-shm"))):
        if old.exists():
            shutil.move(old, aside / old.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)


def is_full(problem: BaseException) -> bool:
    """Whether the system says that the disk or the quota is full."""
    return isinstance(problem, OSError) and problem.errno in FULL


def disk_full(folder: Path | str) -> DiskFull:
    return DiskFull(
        f"The disk that holds {folder} is full.",
        action="Make room on it; bythebook then continues by itself.",
    )


def check_room(folder: Path, reserve: int, need: int = 0) -> None:
    """Raise DiskFull where a write of `need` bytes would use up the reserve."""
    there = folder
    while not there.exists():
        there = there.parent
    disk = shutil.disk_usage(there)
    kept = min(reserve, int(disk.total * MAX_RESERVE_SHARE))
    if disk.free < kept + need:
        raise DiskFull(
            f"The disk that holds {folder} is almost full: {_megabytes(disk.free)} are free, and "
            f"{_megabytes(need + kept)} are needed, of which {_megabytes(kept)} are kept in "
            "reserve.",
            action="Make room on it, or lower BYTHEBOOK_DISK_RESERVE; then bythebook continues "
            "by itself.",
            details={"free": disk.free, "needed": need + kept},
        )


def allocate_ahead(files: Iterable[tuple[Path, int]]) -> None:
    """Reserve disk space in each file: so many bytes behind what was written. Raises DiskFull if
    there is none."""
    if not hasattr(os, "posix_fallocate"):
        return
    for file, ahead in files:
        handle = os.open(file, os.O_RDWR)
        try:
            size = os.fstat(handle).st_size
            written = os.lseek(handle, 0, os.SEEK_HOLE) if size else 0
            if written < size:
                os.posix_fallocate(handle, written, min(ahead, size - written))
        except OSError as problem:
            if is_full(problem):
                raise disk_full(file.parent) from problem
            raise
        finally:
            os.close(handle)


def disk_usage(stat: os.stat_result) -> int:
    """Bytes that a file takes on the disk, as far as the system says."""
    blocks: int | None = getattr(stat, "st_blocks", None)  # not on Windows
    return stat.st_size if blocks is None else blocks * 512


def folder_usage(folder: Path) -> int:
    """Bytes that the files in a folder take on the disk."""
    return sum(disk_usage(file.stat()) for file in folder.rglob("*") if file.is_file())


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
