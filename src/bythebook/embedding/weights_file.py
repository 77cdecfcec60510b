"""The weights that come with the package, used only when they are what was published."""

from __future__ import annotations

import zlib
from functools import partial
from pathlib import Path

from bythebook.errors import ConfigurationError

FOLDER = Path(__file__).parent / "weights"
BLOCK = 1 << 20


def checked_file(name: str, folder: Path = FOLDER) -> Path:
    """One file, compared with CRC32SUMS: a damaged matrix would give vectors, but wrong ones. Who
    could forge a matrix could forge a stronger sum as well, and every start would wait for it."""
    path = folder / name
    try:
        digest = 0
        with path.open("rb") as content:
            for block in iter(partial(content.read, BLOCK), b""):
                digest = zlib.crc32(block, digest)
        lines = (folder / "CRC32SUMS").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise _damaged(name, "can't be read") from problem
    if f"{digest:08x}  {name}" not in lines:
        raise _damaged(name, "is damaged: its checksum is wrong")
    return path


def _damaged(name: str, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"The file {name} of the built-in embedder {what}.",
        action="Install bythebook again: pip install --force-reinstall bythebook.",
    )
