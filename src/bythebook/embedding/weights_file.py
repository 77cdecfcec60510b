"""The weights that come with the package, used only when they are what was published."""

from __future__ import annotations

import hashlib
from pathlib import Path

from bythebook.errors import ConfigurationError

FOLDER = Path(__file__).parent / "weights"


def checked_file(name: str, folder: Path = FOLDER) -> Path:
    """One file, compared with SHA256SUMS: a damaged matrix would give vectors, but wrong ones."""
    path = folder / name
    try:
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        lines = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise _damaged(name, "can't be read") from problem
    sums = {line[66:]: line[:64] for line in lines}
    if sums.get(name) != digest:
        raise _damaged(name, "is damaged: its checksum is wrong")
    return path


def _damaged(name: str, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"The file {name} of the built-in embedder {what}.",
        action="Install bythebook again: pip install --force-reinstall bythebook.",
    )
