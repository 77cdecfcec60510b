"""What an ingest has to do, found out by reading no more than it must."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from bythebook import __version__
from bythebook.errors import ConfigurationError, InputError
from bythebook.index.store import VectorStore
from bythebook.ingestion.catalog import Catalog
from bythebook.ingestion.points import KnownPoints, book_filter, check_stamp, cut_anew, is_outdated
from bythebook.models.chunk import (
    CHUNKER_VERSION,
    BookInfo,
    DocumentChunk,
    chunk_ids,
    neighbours,
    parent_id,
)
from bythebook.models.job import BookChanges, IngestionState
from bythebook.models.passage import chunk_of_payload
from bythebook.models.values import IngestionMode
from bythebook.reading.document import PLAIN, PageReader
from bythebook.reading.head import Head
from bythebook.reading.layout import Book
from bythebook.reading.placement import Placement, place_pages
from bythebook.reading.source import look

NUMBERS = frozenset({"module", "chapter", "lesson", "numbered", "collides"})


def only_renumbered(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two noted placements differ in nothing that a passage's text or address is made
    of."""
    return before.keys() == after.keys() and all(
        before[name] == after[name] for name in after.keys() - NUMBERS
    )


def renumbered(
    known: KnownPoints, file_hash: str, book_id: str, placement: Placement
) -> tuple[DocumentChunk, ...]:
    """The file's passages under its new numbers; none unless the index has all of them. It may
    lack one: another file with the same passage that got this file's old number overwrote it."""
    if not all(one.payload for one in known.points.values()):
        return ()
    kept = sorted(
        (chunk_of_payload(one.id, one.payload or {}) for one in known.points.values()),
        key=lambda chunk: chunk.metadata.chunk_index,
    )
    whole = all(
        (chunk.metadata.chunk_index, chunk.metadata.total_chunks) == (index, len(kept))
        and chunk.metadata.source_file_hash == file_hash
        for index, chunk in enumerate(kept)
    )
    if not whole:
        return ()
    ids = chunk_ids(placement.chunk_key(book_id), [one.metadata.content_hash for one in kept])
    shared: dict[str, Any] = {
        "module": placement.module,
        "chapter": placement.chapter,
        "lesson": placement.lesson,
        "parent_doc_id": parent_id(placement.parent_key(book_id)),
        "version": 1,  # of this id
    }
    return tuple(
        chunk.model_copy(
            update={
                "id": ids[index],
                "metadata": chunk.metadata.model_copy(update=shared | neighbours(ids, index)),
            }
        )
        for index, chunk in enumerate(kept)
    )


async def forget_missing_files(store: VectorStore, catalog: Catalog, collection: str) -> int:
    """After a rebuild: the next ingest reads again what was lost. Returns how many files."""
    forgotten = 0
    for book in await catalog.known.all():
        if book.collection_name != collection:
            continue
        indexed = await store.facet("source_file", book_filter(book.book_id), limit=1_000_000)
        state = await catalog.state(book.book_id, collection)
        lost = [
            file
            for file, record in state.records.items()
            if indexed.get(file, 0) != record.chunk_count
        ]
        if lost:
            await catalog.doubt(book.book_id, lost)
        for file in lost:
            await catalog.forget_file(book.book_id, file)
        forgotten += len(lost)
    return forgotten


@dataclass(frozen=True)
class Due:
    """A file that is to be processed: its place, and what the folder said of it (`seen`) when it
    had this hash. One that only gets other numbers comes with its `head`: it need not be read."""

    placement: Placement
    file_hash: str
    seen: list[int] | None
    head: Head | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "placement": self.placement.to_json(),
            "file_hash": self.file_hash,
            "seen": self.seen,
            "head": self.head.to_json() if self.head else None,
        }

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Due:
        kept = entry.get("head")  # a plan that an earlier version made lacks it
        head = Head.from_json(kept) if kept else None
        return cls(Placement(**entry["placement"]), entry["file_hash"], entry["seen"], head)


@dataclass(frozen=True)
class Plan:
    """Files to process in reading order, and those that need nothing. `moved` are unchanged files
    whose number, title, address or book-wide settings changed because something else did; of the
    `renumbered` it was only the number. `seen` is what the folder says of each file that has the
    hash in `hashes`."""

    new: tuple[str, ...]
    modified: tuple[str, ...]
    moved: tuple[str, ...]
    deleted: tuple[str, ...]
    process: tuple[str, ...]
    hashes: dict[str, str]
    seen: dict[str, list[int] | None]
    heads: dict[str, Head]
    placements: dict[str, Placement]
    total_files: int
    renumbered: frozenset[str] = frozenset()
    failed: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)

    @property
    def nothing_to_do(self) -> bool:
        return not self.process and not self.deleted

    def due(self, file: str) -> Due:
        head = self.heads[file] if file in self.renumbered else None
        return Due(self.placements[file], self.hashes[file], self.seen[file], head)


def folder_says(book: Book, max_bytes: int) -> str | None:
    """All that a plan is made of beside what the index has: as long as the folder says the same to
    the same program, the files that were indexed need not even be compared with it. None while one
    of them may be changing."""
    digest = sha256(repr((__version__, CHUNKER_VERSION, max_bytes)).encode())
    removed = None if book.removed is None else sorted(book.removed)
    digest.update(repr((replace(book, removed=None), removed)).encode("utf-8", "replace"))
    for file in book.files:
        if (seen := look(book.root, file)) is None:
            return None
        digest.update(repr(seen).encode())
    return digest.hexdigest()


def nothing_new(book: Book) -> Plan:
    """For a folder that says what it said when all of it was indexed."""
    return Plan(
        new=(), modified=(), moved=(), deleted=(), process=(), hashes={}, seen={}, heads={},
        placements={}, total_files=len(book.files), warnings=list(book.problems),
    )  # fmt: skip


def make_plan(
    book: Book,
    state: IngestionState,
    mode: IngestionMode,
    max_bytes: int,
    reader: PageReader = PLAIN,
) -> Plan:
    """Hash the files that may have changed, read the heads of those that did, lay the book out,
    compare."""
    warnings = list(book.problems)
    hashes: dict[str, str] = {}
    seen: dict[str, list[int] | None] = {}
    heads: dict[str, Head] = {}
    unreadable: set[str] = set()
    incremental = mode == "incremental"
    for file in book.files:
        record = state.records.get(file)
        keep = incremental and record is not None and Head.is_whole(record.head)
        seen[file] = look(book.root, file)
        if keep and record and record.seen and record.seen == seen[file]:
            heads[file], hashes[file] = Head.from_json(record.head), record.file_hash
            continue
        try:
            known_hash = record.file_hash if keep and record else ""
            found = reader.glance(book, file, max_bytes, known_hash)
            if found.is_filled:  # the folder does not say when another file changes
                seen[file] = None
            heads[file] = found.head or Head.from_json(record.head if record else {})
            warnings += [f"{file}: {problem}" for problem in found.problems]
            hashes[file] = found.file_hash
        except InputError as problem:
            warnings.append(f"{problem.message} It was skipped. {problem.action}")
            unreadable.add(file)
            if record:  # what was indexed of it stays until it can be read again
                heads[file] = Head.from_json(record.head)
                hashes[file] = record.file_hash
    readable = tuple(file for file in book.files if file in heads)
    if not readable:
        raise InputError(
            f"None of the {len(book.files)} files in {book.root} can be read.",
            action=warnings[-1],
        )
    placements = place_pages(_only(book, readable), heads)
    new, modified, deleted = state.get_changed_files(hashes)
    deleted = [
        file
        for file in deleted
        if file not in unreadable and (book.removed is None or file in book.removed)
    ]
    noted = {file: noted_placement(book, placements[file]) for file in readable}
    moved = [
        file
        for file in readable
        if file in state.records and state.records[file].placement != noted[file]
    ]
    outdated = {
        file
        for file, record in state.records.items()
        if record.chunker_version != CHUNKER_VERSION or not Head.is_whole(record.head)
    }
    due = {*new, *modified, *moved, *outdated} if incremental else set(readable)
    renumbered = {
        file
        for file in moved
        if incremental and only_renumbered(state.records[file].placement, noted[file])
    }
    return Plan(
        new=tuple(new),
        modified=tuple(modified),
        moved=tuple(file for file in moved if file not in set(modified)),
        deleted=tuple(deleted),
        process=tuple(file for file in placements if file in due and file not in unreadable),
        hashes=hashes,
        seen=seen,
        heads=heads,
        placements=placements,
        total_files=len(book.files),
        renumbered=frozenset(renumbered.difference(modified, outdated)),
        failed=tuple(sorted(unreadable)),
        warnings=warnings,
    )


def _only(book: Book, files: tuple[str, ...]) -> Book:
    known = set(files)
    contents = tuple(entry for entry in book.contents if entry.source_file in known)
    return replace(book, files=files, contents=contents)


def noted_placement(book: Book, placement: Placement) -> dict[str, Any]:
    """All that a file's points are made of beside its own text."""
    return {
        **placement.to_json(),
        "flavor": book.flavor,
        "language": book.language,
        "defaults": book.manifest.defaults.model_dump(),
    }


def find_changes(
    book: Book,
    state: IngestionState,
    known: BookInfo | None,
    *,
    embedding_model: str,
    max_bytes: int,
    reader: PageReader,
) -> BookChanges:
    """Compare a folder with the files that the index has; nothing is written."""
    outdated = is_outdated(known)
    mode: IngestionMode = "full" if outdated else "incremental"
    plan = make_plan(book, state, mode, max_bytes, reader)
    warnings = [*plan.warnings, *([cut_anew(book.book_id)] if outdated else [])]
    fits = True
    try:
        check_stamp(known, "incremental", embedding_model, state.collection_name)
    except ConfigurationError as problem:
        warnings.append(str(problem))
        fits = False
    concerned = {*plan.process, *plan.failed}
    return BookChanges(
        book_id=book.book_id,
        new=list(plan.new),
        modified=list(plan.modified),
        moved=[file for file in plan.moved if file not in plan.failed],
        deleted=list(plan.deleted),
        failed=list(plan.failed),
        unchanged=sum(file not in concerned for file in book.files),
        chunks_to_delete=len(state.get_chunks_to_delete([*plan.modified, *plan.deleted])),
        warnings=warnings,
        up_to_date=known is not None and fits and plan.nothing_to_do,
    )
