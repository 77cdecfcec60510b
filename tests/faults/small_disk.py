"""A small real disk that can be filled: a file system of its own in a file, mounted."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from extent import PATIENCE

MEGABYTES = 64


class SmallDisk:
    """Filled and emptied by one large file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filling = folder / "filling"

    @property
    def free(self) -> int:
        return shutil.disk_usage(self.folder).free

    def fill(self, leave: int = 0) -> None:
        """Until so many bytes are left, down to the last block."""
        with self._filling.open("ab", buffering=0) as file:
            while (room := self.free - leave) > 0:
                try:
                    file.write(bytes(min(room, 2**20)))
                except OSError:
                    break
                os.fsync(file.fileno())  # where blocks are given out late, `free` is known late

    def make_room(self) -> None:
        self._filling.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Skips the test where nobody may mount."""
    maker = shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/sbin:/usr/sbin")
    image, mounted = folder / "image", folder / "disk"
    mounted.mkdir()
    if os.geteuid() != 0 or maker is None:
        pytest.skip("To mount a small disk takes root and mkfs.ext4.")
    with image.open("wb") as file:
        file.truncate(MEGABYTES * 2**20)
    subprocess.run([maker, "-q", "-m", "0", image], check=True)
    done = subprocess.run(["mount", "-o", "loop", image, mounted], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"A small disk can't be mounted here: {done.stderr.strip()}")
    try:
        yield SmallDisk(mounted)
    finally:
        unmount(mounted)


def unmount(mounted: Path) -> None:
    """A child of a process that has ended may have its log open for a moment longer."""
    end = time.monotonic() + PATIENCE
    while (done := subprocess.run(["umount", mounted], capture_output=True, text=True)).returncode:
        assert "busy" in done.stderr and time.monotonic() < end, done.stderr
        time.sleep(0.1)
