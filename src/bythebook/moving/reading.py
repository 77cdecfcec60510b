"""Parts of a file that holds indexes or tables, believed only as far as they are checked."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bythebook.errors import InputError
from bythebook.index.collection import DENSE, SPARSE
from bythebook.index.models import PointStruct, SparseVector
from bythebook.ingestion.points import PAGE
from bythebook.models.passage import chunk_of_payload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What zipfile raises on files that are damaged, protected or packed in an unusual way.
DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, LookupError, RuntimeError)
# What else is raised over entries that are not as they were written.
WRONG = (*DAMAGED, TypeError, AttributeError, ArithmeticError)
# What nobody's book needs; a file that says it has more was made to fill a disk.
MOST_BYTES = 200 * 2**30
# How many times its own size a file may unpack to: text does ten times, vectors hardly once. A
# small one may do as it likes.
MOST_UNPACKED, SMALL = 100, 100 * 2**20
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
BYTES_OF_FLOAT = 4
LONGEST_LINE = 10 * 2**20


class PartReader:
    """Reads parts of an open archive; `broken` makes the error for one that was damaged."""

    def __init__(self, archive: zipfile.ZipFile, broken: Callable[[], InputError]) -> None:
        self.archive, self.broken = archive, broken

    def check_digests(self, names: Iterable[str], digests: dict[str, str]) -> None:
        """Before anything is written: a file that was damaged on the way is refused as a whole."""
        try:
            for name in names:
                digest = hashlib.sha256()
                with self.archive.open(name) as part:
                    while data := part.read(2**20):
                        digest.update(data)
                if digest.hexdigest() != digests.get(name):
                    raise self.broken()
        except DAMAGED as problem:
            raise self.broken() from problem

    def points(
        self, points: str, vectors: str, *, book_id: str, dimension: int, passages: int
    ) -> Iterator[list[PointStruct]]:
        """In pages, each passage checked as if it had just been read from the book."""
        import numpy as np

        size = dimension * BYTES_OF_FLOAT
        page: list[PointStruct] = []
        total = 0
        with self.archive.open(vectors) as numbers:
            for line in self.lines(points):
                data = numbers.read(size)
                if len(data) != size:
                    raise self.broken()
                page.append(self._point(line, np.frombuffer(data, "<f4"), book_id))
                total += 1
                if len(page) == PAGE:
                    yield page
                    page = []
            if numbers.read(1) or total != passages:
                raise self.broken()
        if page:
            yield page

    def _point(self, line: bytes, vector: NDArray[np.float32], book_id: str) -> PointStruct:
        import numpy as np

        try:
            entry: dict[str, Any] = json.loads(line)
            chunk = chunk_of_payload(entry["id"], entry["payload"])
            sparse = SparseVector(
                indices=[int(index) for index in entry["indices"]],
                values=[float(value) for value in entry["values"]],
            )
        except WRONG as problem:
            raise self.broken() from problem
        is_ours = chunk.metadata.book_id == book_id
        if (
            not is_ours
            or not np.isfinite(vector).all()
            or len(sparse.indices) != len(sparse.values)
        ):
            raise self.broken()
        return PointStruct(
            id=chunk.id, vector={DENSE: vector.tolist(), SPARSE: sparse}, payload=entry["payload"]
        )

    def lines(self, name: str, longest: int = LONGEST_LINE) -> Iterator[bytes]:
        with self.archive.open(name) as part:
            while line := part.readline(longest):
                if not line.endswith(b"\n"):
                    raise self.broken()
                yield line


def unpacked_sizes(archive: zipfile.ZipFile, file: Path) -> dict[str, int] | None:
    """What the parts say they unpack to; None if that is more than any honest file does, or they
    are packed in a way that can't be undone piece by piece (bzip2, LZMA)."""
    if any(entry.compress_type not in PACKED for entry in archive.infolist()):
        return None
    sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    most = min(MOST_BYTES, max(SMALL, MOST_UNPACKED * file.stat().st_size))
    return sizes if sum(sizes.values()) <= most else None
