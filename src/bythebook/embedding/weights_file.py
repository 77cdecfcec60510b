"""Weights that come in a package, used only when they are what was published."""

from __future__ import annotations

import zlib
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bythebook.errors import ConfigurationError

FOLDER = Path(__file__).parent / "weights"
BLOCK = 1 << 20


class WeightsPackage(NamedTuple):
    """Whose weights they are, and the distribution that brings them."""

    owner: str
    distribution: str


EMBEDDER = WeightsPackage("built-in embedder", "bythebook")


def checked_file(name: str, folder: Path = FOLDER, package: WeightsPackage = EMBEDDER) -> Path:
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
        raise _damaged(name, package, "can't be read") from problem
    if f"{digest:08x}  {name}" not in lines:
        raise _damaged(name, package, "is damaged: its checksum is wrong")
    return path


def _damaged(name: str, package: WeightsPackage, what: str) -> ConfigurationError:
    again = package.distribution
    return ConfigurationError(
        f"The file {name} of the {package.owner} {what}.",
        action=f"Install {again} again: pip install --force-reinstall {again}.",
    )
