"""The parts of an archive or backup: written with digests, and checked when they are read."""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from bythebook.errors import InputError
from bythebook.files import check_room, disk_full, is_full
from bythebook.index.qdrant_models import PointStruct, Record, SparseVector
from bythebook.index.store import DENSE, PAGE, SPARSE
from bythebook.models.passage import chunk_of_payload, is_passage

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
# Vectors wait in memory up to this size, then on disk.
IN_MEMORY = 16 * 2**20


OnStep = Callable[[str, int, int], None]
Manifest = TypeVar("Manifest", bound=BaseModel)


class PartReader:
    """Reads the parts of a file; `broken` makes the error for one that is damaged or of another
    kind."""

    def __init__(self, file: Path, broken: Callable[[], InputError]) -> None:
        self.file, self.broken = file, broken
        try:
            self.archive = zipfile.ZipFile(file)
        except FileNotFoundError as problem:
            raise InputError(f"There is no file {file}.", action="Check its path.") from problem
        except DAMAGED as problem:
            raise broken() from problem

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.archive.close()

    def manifest(self, name: str, kind: type[Manifest]) -> Manifest:
        """What the file says of itself; its parts may not unpack to more than an honest file's."""
        try:
            entries = {entry.filename: entry for entry in self.archive.infolist()}
            if not self._is_honest() or entries[name].file_size > LONGEST_LINE:
                raise self.broken()
            return kind.model_validate_json(self.archive.read(name))
        except (ValidationError, *DAMAGED) as problem:
            raise self.broken() from problem

    def _is_honest(self) -> bool:
        """What is packed in a way that can't be undone piece by piece (bzip2, LZMA) is not."""
        entries = self.archive.infolist()
        most = min(MOST_BYTES, max(SMALL, MOST_UNPACKED * self.file.stat().st_size))
        return (
            all(entry.compress_type in PACKED for entry in entries)
            and sum(entry.file_size for entry in entries) <= most
        )

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


@contextmanager
def whole_archive(file: Path, reserve: int) -> Iterator[zipfile.ZipFile]:
    """A new archive, which appears at its place only when it is whole; so much of the disk must be
    free when it is begun."""
    if file.exists():
        raise InputError(f"{file} is there already.", action="Name another file, or remove it.")
    check_room(file.absolute().parent, reserve)
    unfinished = file.with_name(f"{file.name}.part")
    try:
        unfinished.touch(mode=0o600)  # it holds what readers asked
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
            yield archive
        unfinished.rename(file)
    except OSError as problem:
        if is_full(problem):
            raise disk_full(file) from problem
        raise InputError(
            f"{file} can't be written: {problem.strerror}.", action="Choose another place."
        ) from problem
    finally:
        unfinished.unlink(missing_ok=True)


class PartWriter:
    """Writes parts into an open archive, one at a time."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self.digests: dict[str, str] = {}

    async def points(self, points: str, vectors: str, records: AsyncIterator[Record]) -> int:
        """Passages with their words in one part and their vectors, in the same order, in another;
        a zip file takes one part at a time, so the vectors wait."""
        import numpy as np

        done = 0
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as waiting:
            with self.part(points) as write:
                async for record in records:
                    sparse = (record.vector or {}).get(SPARSE)
                    if not isinstance(sparse, SparseVector) or not is_passage(
                        record.id, record.payload
                    ):
                        continue
                    line = {
                        "id": record.id,
                        "payload": record.payload,
                        "indices": list(sparse.indices),
                        "values": list(sparse.values),
                    }
                    write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
                    waiting.write(np.asarray((record.vector or {})[DENSE], "<f4").tobytes())
                    done += 1
            waiting.seek(0)
            self.copy(vectors, waiting)
        return done

    def lines(self, name: str, lines: Iterable[str]) -> None:
        with self.part(name) as write:
            for line in lines:
                write(line.encode() + b"\n")

    def copy(self, name: str, source: IO[bytes]) -> None:
        with self.part(name) as write:
            while data := source.read(2**20):
                write(data)

    @contextmanager
    def part(self, name: str) -> Iterator[Callable[[bytes], None]]:
        digest = hashlib.sha256()
        with self.archive.open(name, "w", force_zip64=True) as stream:

            def write(data: bytes) -> None:
                digest.update(data)
                stream.write(data)

            yield write
        self.digests[name] = digest.hexdigest()
