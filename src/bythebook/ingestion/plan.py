"""What an ingest has to do, found out by reading no more than it must."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from bythebook import __version__
from bythebook.errors import InputError
from bythebook.ingestion.renumbered import only_renumbered
from bythebook.models.chunk import CHUNKER_VERSION
from bythebook.models.state import IngestionState
from bythebook.models.vocabulary import IngestionMode
from bythebook.reading.frontmatter import read_front_matter
from bythebook.reading.head import Head, read_head
from bythebook.reading.includes import Includes
from bythebook.reading.layout import Book
from bythebook.reading.placement import Placement, place_pages
from bythebook.reading.source import decode, hash_bytes, look, read_page_bytes

if TYPE_CHECKING:
    from bythebook.reading.document import Document


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


def make_plan(book: Book, state: IngestionState, mode: IngestionMode, max_bytes: int) -> Plan:
    """Hash the files that may have changed, read the heads of those that did, lay the book out,
    compare."""
    warnings = list(book.problems)
    hashes: dict[str, str] = {}
    seen: dict[str, list[int] | None] = {}
    heads: dict[str, Head] = {}
    unreadable: set[str] = set()
    incremental = mode == "incremental"
    includes = Includes(book.top, book.root)
    for file in book.files:
        record = state.records.get(file)
        keep = incremental and record is not None and Head.is_whole(record.head)
        seen[file] = look(book.root, file)
        if keep and record and record.seen and record.seen == seen[file]:
            heads[file], hashes[file] = Head.from_json(record.head), record.file_hash
            continue
        try:
            data, is_filled = read_page_bytes(includes, file, max_bytes)
            if is_filled:  # the folder does not say when another file changes
                seen[file] = None
            file_hash = hash_bytes(data)
            if keep and record and record.file_hash == file_hash:
                heads[file] = Head.from_json(record.head)
            else:
                source = decode(file, data)
                front = read_front_matter(source.text)
                heads[file], problems = read_head(source.text, front, source.contents)
                warnings += [f"{file}: {problem}" for problem in problems]
            hashes[file] = file_hash
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


def read_page(
    book: Book, file: str, placement: Placement, max_bytes: int
) -> tuple[str, Document, Head]:
    """The file's hash, chunks and head, as it is now; it may have changed since the plan."""
    # The Markdown parser is loaded only once there is something to parse.
    from bythebook.reading.document import read_document

    includes = Includes(book.top, book.root)
    source = decode(file, read_page_bytes(includes, file, max_bytes)[0])
    front = read_front_matter(source.text)
    head, _ = read_head(source.text, front, source.contents)
    return source.hash, read_document(book, source, front, placement), head
