"""The PDF that a passage is from, for those who may have the whole file."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from bythebook.errors import BookNotFound, InputError, NotAllowed
from bythebook.models.chunk import BookInfo
from bythebook.models.passage import Passage
from bythebook.server.caller import Caller
from bythebook.server.service import Service

PDF = ".pdf"
ALL_BOOKS = "all"
PIECE_BYTES = 1 << 18


def may_open(service: Service, caller: Caller, passage: Passage) -> bool:
    """A file has more in it than passages do: pictures, and what was left out of the index. So
    readers get it only where an operator opened the book's files."""
    if not passage.metadata.source_file.lower().endswith(PDF):
        return False
    opened = {name.strip() for name in service.settings.open_files.split(",")}
    return caller.is_admin or bool(opened & {ALL_BOOKS, passage.metadata.book_id})


async def open_file(
    service: Service, caller: Caller, book: BookInfo, passage: Passage
) -> tuple[BinaryIO, int]:
    """The file as it was read, and its size; the caller closes it."""
    page = passage.metadata.source_file
    if not page.lower().endswith(PDF):
        raise BookNotFound(
            f"{page} is not a PDF.", action="`GET /lesson/{parent_doc_id}?html=true` is its page."
        )
    if not may_open(service, caller, passage):
        raise NotAllowed(
            f"The files of {book.book_id} are not open to readers.",
            action="Whoever runs the service opens them with BYTHEBOOK_OPEN_FILES.",
        )
    sources = service.library.sources
    # A book that came with an import may name any folder as its source.
    await sources.check(book.book_id, book.source)
    gone = BookNotFound(
        f"{page} is not there any more, or has changed since it was read.",
        action=f"Update the book: `bythebook ingest --book {book.book_id}`.",
    )
    try:
        found = await sources.kept_book(book.source, book.book_id)
    except InputError as problem:  # it names the folder, which is not a reader's business
        raise gone from problem
    if page in found.files:
        place = found.root / page
        opened = await asyncio.to_thread(_opened, place, passage.metadata.source_file_hash)
        if opened is not None:
            return opened
    raise gone


def in_pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _opened(place: Path, expected: str) -> tuple[BinaryIO, int] | None:
    """Only what was read into the index: by its hash, wherever the path leads by now."""
    try:
        file = place.open("rb")
    except OSError:
        return None
    if hashlib.file_digest(file, "sha256").hexdigest() != expected:
        file.close()
        return None
    size = file.tell()
    file.seek(0)
    return file, size
