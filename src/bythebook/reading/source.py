"""A file of the book as text, with the arithmetic from lines to character offsets."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bythebook.errors import InputError
from bythebook.reading.includes import Includes
from bythebook.reading.readers import (
    WITH_PICTURES,
    Converted,
    SourcePlace,
    convert,
    suffix_of,
    toctrees,
)

# The line breaks markdown-it knows; str.splitlines() knows more and would shift every offset.
LINE_BREAK = re.compile(r"\r\n|\n|\r")
# The same inside longer patterns, where "\r\n" must not be taken for two of them; and what `^` and
# `$` mean there, which by themselves know "\n" only. A byte order mark may stand before a line.
BREAK = r"(?>\r\n?|\n)"
LINE_START = r"(?<![^\r\n\ufeff])"
LINE_END = r"(?![^\r\n])"
# How many times larger a file may be whose format holds pictures.
PICTURES = 10
# The clocks of file systems tick this slowly: what was written since may be written again unseen.
SETTLED_NS = 2_000_000_000


@dataclass(frozen=True, kw_only=True)
class Source(Converted):
    """Offsets everywhere count characters of `text`, which is the decoded file, unchanged but for
    what it includes; of a file that is not Markdown it is what its reader made of it."""

    path: str
    hash: str

    @cached_property
    def line_starts(self) -> list[int]:
        return [0, *(found.end() for found in LINE_BREAK.finditer(self.text))]

    def offset_of_line(self, line: int) -> int:
        """Where a line begins; past the last line, where the text ends."""
        starts = self.line_starts
        return starts[line] if line < len(starts) else len(self.text)

    def line_of_offset(self, offset: int) -> int:
        return bisect_right(self.line_starts, offset) - 1

    def place_at(self, offset: int) -> SourcePlace | None:
        return next(iter(self.places_in(offset, offset + 1)), None)

    def places_in(self, start: int, end: int) -> tuple[SourcePlace, ...]:
        """The place where the range begins, and those that begin in it."""
        first = bisect_right(self.places, start, key=lambda place: place.start)
        last = bisect_left(self.places, end, key=lambda place: place.start)
        return self.places[max(first - 1, 0) : last]


def hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def hash_text(text: str) -> str:
    return hash_bytes(text.encode("utf-8"))


def decode(path: str, data: bytes) -> Source:
    """The file's text, or an error that tells a person why it is none."""
    file_hash = hash_bytes(data)
    made = convert(path, data, file_hash) if suffix_of(path) else _markdown(path, data)
    return Source(path=path, hash=file_hash, **vars(made))


def _markdown(path: str, data: bytes) -> Converted:
    if b"\0" in data:
        raise InputError(
            f"{path} is not a text file.", action="Remove it from the book or save it as UTF-8."
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise InputError(
            f"{path} is not valid UTF-8 (byte {problem.start}).", action="Save it as UTF-8."
        ) from problem
    return Converted(text, clean=False, contents=toctrees(text))


def read_page_bytes(top: Path, root: Path, path: str, max_bytes: int) -> tuple[bytes, bool]:
    """The page with what it takes from other files below `top`, and whether it does."""
    data = read_bytes(root, path, max_bytes)
    if suffix_of(path) not in ("", ".rst"):
        return data, False
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data, False  # whoever decodes it will say why
    filled = Includes(top).fill(root / path, text)
    return (data, False) if filled is text else (filled.encode("utf-8"), True)


def look(root: Path, path: str) -> list[int] | None:
    """What the folder says of a file. It says the same as long as nobody writes the file: the time
    of the last change of any kind can't be set. None: just written, or not there."""
    try:
        seen = os.stat(f"{root}/{path}")  # noqa: PTH116 - a Path takes as long again
    except OSError:
        return None  # whoever reads it will say why
    if max(seen.st_mtime_ns, seen.st_ctime_ns) > time.time_ns() - SETTLED_NS:
        return None
    return [seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino]


def read_bytes(root: Path, path: str, max_bytes: int) -> bytes:
    """The file's bytes; one that can't be read or is too large is an error for this file alone."""
    file = root / path
    if ".." in file.parts or not file.is_relative_to(root):
        raise InputError(
            f"{path} is no file of the book.", action="Ingest the book again from its folder."
        )
    if suffix_of(path) in WITH_PICTURES:
        max_bytes *= PICTURES
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):  # to read a pipe is to wait for whoever writes it
            raise InputError(
                f"{path} is not an ordinary file.", action="Remove it from the book's folder."
            )
        size = found.st_size
        if size > max_bytes:
            raise InputError(
                f"{path} has {size / 1e6:.0f} MB, more than the {max_bytes / 1e6:.0f} MB allowed.",
                action="Split it, or raise BYTHEBOOK_MAX_FILE_MB.",
            )
        return file.read_bytes()
    except OSError as problem:
        raise InputError(
            f"{path} can't be read: {problem.strerror}.",
            action="Check the file and its permissions.",
        ) from problem
