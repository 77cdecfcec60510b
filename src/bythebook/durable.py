"""Small notes on disk that are there whole or not at all, also after a power failure."""

from __future__ import annotations

import os
from pathlib import Path


def write_note(note: Path, text: str) -> None:
    """Put the text in the note's place for good."""
    draft = note.with_name(f"{note.name}.draft")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(note)
    sync_folder(note.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder survive a power failure, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
