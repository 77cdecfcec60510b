"""Memory that is held and not needed, given back to the system."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctypes import CDLL

_DONT_NEED = 4  # MADV_DONTNEED
_MAPPINGS = Path("/proc/self/maps")


def give_back_freed() -> None:
    """What was freed and is kept for later: to open an index or to load a model leaves much."""
    if (system := _system()) is not None:
        system.malloc_trim(0)


def give_back_pages(folder: Path) -> None:
    """Pages of files below `folder` that the program shares with the disk's cache. Nothing is lost
    by it: what is still needed is mapped again when it is read or written. Nobody may unmap one of
    these files meanwhile."""
    if (system := _system()) is None or not _MAPPINGS.exists():
        return
    below = f"{folder.resolve()}/"
    with _MAPPINGS.open(encoding="utf-8", errors="surrogateescape", newline="\n") as mappings:
        for line in mappings:
            extent, access, _offset, _device, _inode, *name = line.split(maxsplit=5)
            if name and name[0].startswith(below) and access.endswith("s"):
                start, end = (int(address, 16) for address in extent.split("-"))
                system.madvise(start, end - start, _DONT_NEED)


@cache
def _system() -> CDLL | None:
    """The C library, where it is the one that has these calls."""
    if sys.platform != "linux":
        return None
    import ctypes

    system = ctypes.CDLL(None)
    if not hasattr(system, "malloc_trim"):
        return None
    system.malloc_trim.argtypes = [ctypes.c_size_t]
    system.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return system
