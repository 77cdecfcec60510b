"""A book's index as one file, to hand out: whoever imports it need not embed anything.

A zip file with `book.json`, `files.jsonl` (what is known of each file), `points.jsonl` (passages
with their words) and `vectors.f32` (their vectors, in the same order).
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from bythebook.errors import InputError
from bythebook.models.book import Background, BookInfo
from bythebook.moving.reading import DAMAGED, LONGEST_LINE, unpacked_sizes

FORMAT = 1
BOOK, FILES, POINTS, VECTORS = "book.json", "files.jsonl", "points.jsonl", "vectors.f32"

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
        sizes = unpacked_sizes(archive, file)
        if sizes is None or set(sizes) != {BOOK, FILES, POINTS, VECTORS}:
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
