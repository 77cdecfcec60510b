"""A book's index as one file, to hand out: whoever imports it need not embed anything.

A zip file with `book.json`, `files.jsonl` (what is known of each file), `points.jsonl` (passages
with their words) and `vectors.f32` (their vectors, in the same order).
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from bythebook.errors import InputError
from bythebook.models.book import Background, BookInfo

FORMAT = 1
BOOK, FILES, POINTS, VECTORS = "book.json", "files.jsonl", "points.jsonl", "vectors.f32"
# What nobody's book needs; a file that says it has more was made to fill a disk.
MOST_BYTES = 200 * 2**30
LONGEST_LINE = 10 * 2**20

# How many times its own size a file may unpack to: text does ten times, vectors hardly once. A
# small one may do as it likes.
MOST_UNPACKED, SMALL = 100, 100 * 2**20
# What zipfile raises on files that are damaged, protected or packed in an unusual way.
DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, LookupError, RuntimeError)

OnPassage = Callable[[int, int], None]


class Manifest(BaseModel):
    """What the file holds; `sha256` are the digests of its other parts."""

    format: int
    book: BookInfo
    background: Background | None = None
    passages: int = Field(ge=0)
    files: int = Field(ge=0)
    sha256: dict[str, str]


def opened(file: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except FileNotFoundError as problem:
        raise InputError(f"There is no file {file}.", action="Check its path.") from problem
    except DAMAGED as problem:
        raise not_ours(file) from problem


def read_manifest(archive: zipfile.ZipFile, file: Path) -> Manifest:
    try:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        most = min(MOST_BYTES, max(SMALL, MOST_UNPACKED * file.stat().st_size))
        if set(sizes) != {BOOK, FILES, POINTS, VECTORS} or sum(sizes.values()) > most:
            raise not_ours(file)
        if sizes[BOOK] > LONGEST_LINE:
            raise not_ours(file)
        manifest = Manifest.model_validate_json(archive.read(BOOK))
    except (ValidationError, *DAMAGED) as problem:
        raise not_ours(file) from problem
    if manifest.format != FORMAT:
        raise InputError(
            f"{file} has the format {manifest.format}, and this bythebook reads {FORMAT}.",
            action="Update bythebook, or export the book again.",
        )
    return manifest


def not_ours(file: Path) -> InputError:
    return InputError(
        f"{file} is not a whole book exported by bythebook.",
        action="Get it again, or make it with `bythebook export BOOK FILE`.",
    )
