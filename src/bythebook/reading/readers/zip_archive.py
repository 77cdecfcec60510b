"""Files that are ZIP archives inside: EPUB and DOCX. What is unpacked is limited."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import Self

from bythebook.errors import InputError
from bythebook.reading.readers.markup_tokens import MarkupToken, decoded, tokens

MAX_ENTRIES = 20_000
MAX_FILE = 50_000_000
MAX_TOTAL = 200_000_000
ENTRY_MARK = b"PK\x01\x02"
# What zipfile raises on damaged files, beside its own error.
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, LookupError)
# Ways to pack that can be undone piece by piece; bzip2 and LZMA give all that a few bytes hold.
LIMITED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
UNSUPPORTED = (NotImplementedError, RuntimeError)


class Archive:
    """Reads files out of an archive, up to a limit for all of them."""

    def __init__(self, data: bytes, path: str, kind: str) -> None:
        self.path = path
        self.kind = kind
        self.left = MAX_TOTAL
        if data.count(ENTRY_MARK) > MAX_ENTRIES:
            raise self.too_much()
        try:
            self.archive = zipfile.ZipFile(io.BytesIO(data))
        except (*DAMAGED, *UNSUPPORTED) as problem:
            raise self.damaged() from problem
        self.names = frozenset(self.archive.namelist())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.archive.close()

    def read(self, name: str) -> bytes:
        """A file in it; what its header says of its size is not believed."""
        limit = min(MAX_FILE, self.left)
        try:
            if self.archive.getinfo(name).compress_type not in LIMITED:
                raise NotImplementedError(name)
            with self.archive.open(name) as opened:
                content = opened.read(limit + 1)
        except UNSUPPORTED as problem:
            raise InputError(
                f"{self.path} is protected or packed in a way that can't be read.",
                action="Save it again without protection, as an ordinary ZIP (deflated).",
            ) from problem
        except DAMAGED as problem:
            raise self.damaged() from problem
        if len(content) > limit:
            raise self.too_much()
        self.left -= len(content)
        return content

    def xml(self, name: str) -> Iterator[MarkupToken]:
        """The tags and texts of a file in it; none if it is not there."""
        return tokens(decoded(self.read(name) if name in self.names else b""), xml=True)

    def damaged(self) -> InputError:
        return InputError(
            f"{self.path} is damaged or not {self.kind}.",
            action="Save it again from the original, or remove it from the book.",
        )

    def too_much(self) -> InputError:
        return InputError(
            f"{self.path} unpacks to more than {MAX_TOTAL // 1_000_000} MB or {MAX_ENTRIES} files.",
            action="Remove it from the book, or remove its pictures.",
        )
