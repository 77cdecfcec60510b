"""Parts of a file that holds indexes or tables, each with its digest."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bythebook.errors import InputError
from bythebook.index.collection import DENSE, SPARSE
from bythebook.index.models import Record, SparseVector

# Vectors wait in memory up to this size, then on disk.
IN_MEMORY = 16 * 2**20


@contextmanager
def whole_archive(file: Path) -> Iterator[zipfile.ZipFile]:
    """A new archive, which appears at its place only when it is whole."""
    if file.exists():
        raise InputError(f"{file} is there already.", action="Name another file, or remove it.")
    unfinished = file.with_name(f"{file.name}.part")
    try:
        unfinished.touch(mode=0o600)  # it holds what readers asked
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
            yield archive
        unfinished.rename(file)
    except OSError as problem:
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
                    sparse = (record.vector or {})[SPARSE]
                    assert isinstance(sparse, SparseVector)
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
            shutil.copyfileobj(source, _Writable(write))

    @contextmanager
    def part(self, name: str) -> Iterator[Callable[[bytes], None]]:
        digest = hashlib.sha256()
        with self.archive.open(name, "w", force_zip64=True) as stream:

            def write(data: bytes) -> None:
                digest.update(data)
                stream.write(data)

            yield write
        self.digests[name] = digest.hexdigest()


class _Writable:
    def __init__(self, write: Callable[[bytes], None]) -> None:
        self.write = write
