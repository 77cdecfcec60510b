"""Where books come from: uploads, allowed folders and addresses, and choices made for a book."""

from __future__ import annotations

import asyncio
import mimetypes
import shutil
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from sqlalchemy import delete, select, text

from bythebook.database.engine import Database
from bythebook.database.tables import allowed_sources, books, given_titles, removed_pages
from bythebook.errors import InputError, NotAllowed, TooLarge
from bythebook.fetching.address import find_address, stored_address
from bythebook.files import check_room, disk_full, is_full, write_atomically
from bythebook.ingestion.locks import FileLocks
from bythebook.models.values import check_book_id
from bythebook.reading.layout import IGNORED_FOLDERS, PAGE_SUFFIXES, Book, find_book
from bythebook.reading.naming import is_generic
from bythebook.reading.readers.zip_archive import Archive
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.fetching.crawl import OnFetch
    from bythebook.models.chunk import BookInfo
    from bythebook.models.job import IngestionJob


REMOVE = text(
    "INSERT INTO removed_pages (book_id, source_file) VALUES (:book_id, :source_file) "
    "ON CONFLICT (book_id, source_file) DO NOTHING"
)
GIVE_TITLE = text(
    "INSERT INTO given_titles (book_id, title) VALUES (:book_id, :title) "
    "ON CONFLICT (book_id) DO UPDATE SET title = excluded.title"
)


class Choices:
    """Titles given to books, and pages taken out of them."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def give_title(self, book_id: str, title: str) -> None:
        await self.database.change(GIVE_TITLE, book_id=book_id, title=title)

    async def removed_pages(self, book_id: str) -> frozenset[str]:
        query = select(removed_pages.c.source_file).where(removed_pages.c.book_id == book_id)
        rows = await self.database.look_up(query)
        return frozenset(row["source_file"] for row in rows)

    async def remove_page(self, book_id: str, source_file: str) -> None:
        await self.database.change(REMOVE, book_id=book_id, source_file=source_file)

    async def bring_back(self, book_id: str, pages: Iterable[str]) -> None:
        """Let the next ingest read these again."""
        pages = list(pages)
        for at in range(0, len(pages), AT_ONCE):
            those = removed_pages.c.source_file.in_(pages[at : at + AT_ONCE])
            await self.database.change(
                delete(removed_pages).where(removed_pages.c.book_id == book_id, those)
            )

    async def forget(self, book_id: str) -> None:
        for table in (given_titles, removed_pages):
            await self.database.change(delete(table).where(table.c.book_id == book_id))


AT_ONCE = 500  # names in one statement
ZIP = ".zip"
KINDS = (*PAGE_SUFFIXES, ZIP)
# A folder may hold many files, of which each has the limit of a file.
MAX_ZIP = 50_000_000
LONGEST_PATH = 400
# Of no use to a book that is read as text.
MEDIA = ("image/", "video/", "audio/", "font/")


class Uploads:
    """The folders below the home, and what may be put into them."""

    def __init__(self, home: Path, max_bytes: int) -> None:
        self.top = home / "uploads"
        self.max_bytes = max_bytes

    def folder(self, book_id: str) -> Path:
        return self.top.resolve() / check_book_id(book_id)

    def holds(self, book_id: str, source: str) -> bool:
        """Whether the book is read from its folder here."""
        return source == str(self.folder(book_id))

    def books(self) -> list[str]:
        """Ids of the books that have a folder here."""
        if not self.top.is_dir():
            return []
        return sorted(entry.name for entry in self.top.iterdir() if entry.is_dir())

    def put(self, book_id: str, path: str, content: bytes) -> list[str]:
        """Keep a file, or the files in a ZIP archive; the paths of those that were kept."""
        if path.lower().endswith(ZIP):
            return self._unpack(book_id, path, content)
        if not path.lower().endswith(PAGE_SUFFIXES):
            raise InputError(
                f"{path} is of a kind that can't be read.",
                action=f"Give files of these kinds: {', '.join(KINDS)}.",
                details={"field": "path"},
            )
        if len(content) > self.max_bytes:
            raise TooLarge(
                f"{path} is larger than {self.max_bytes // 1_000_000} MB.",
                action="Divide it into smaller files, or raise BYTHEBOOK_MAX_FILE_MB.",
            )
        self._write(self._place(book_id, path), content)
        return [path]

    def remove(self, book_id: str, path: str) -> None:
        self._place(book_id, path).unlink(missing_ok=True)

    def forget(self, book_id: str) -> None:
        """Delete all that was uploaded for a book."""
        shutil.rmtree(self.folder(book_id), ignore_errors=True)

    def _unpack(self, book_id: str, path: str, content: bytes) -> list[str]:
        """A folder that holds everything is left out, so that the book begins where it does."""
        kept: list[str] = []
        with Archive(content, path, "a ZIP archive") as archive:
            names = {name: _safe_path(name) for name in sorted(archive.names)}
            wanted = {name: inside for name, inside in names.items() if inside is not None}
            tops = {inside.parts[0] for inside in wanted.values()}
            depth = int(len(tops) == 1 and all(len(one.parts) > 1 for one in wanted.values()))
            for name, inside in wanted.items():
                text = str(PurePosixPath(*inside.parts[depth:]))
                read = archive.read(name)
                if len(read) <= self.max_bytes:
                    self._write(self._place(book_id, text), read)
                    kept.append(text)
        if not any(name.lower().endswith(PAGE_SUFFIXES) for name in kept):
            raise InputError(
                f"There is no page of a book in {path}.",
                action=f"Pack a folder with files of these kinds: {', '.join(PAGE_SUFFIXES)}.",
                details={"field": "path"},
            )
        return kept

    def _place(self, book_id: str, path: str) -> Path:
        """Where a file goes: always below the book's own folder."""
        inside = _safe_path(path)
        if inside is None:
            raise InputError(
                f"{path!r} can't be the path of an uploaded file.",
                action="Give a name without `..`, and none that begins with a dot.",
                details={"field": "path"},
            )
        return self.folder(book_id).joinpath(*inside.parts)

    def _write(self, place: Path, content: bytes) -> None:
        """Whole or not at all: the book may be being read."""
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(place, content, durable=False)
        except OSError as problem:
            if is_full(problem):
                raise disk_full(self.top.parent) from problem
            raise InputError(
                f"{place.name} can't be kept under this name: {problem.strerror}.",
                action="Give the file another name.",
                details={"field": "path"},
            ) from problem


def _safe_path(name: str) -> PurePosixPath | None:
    """The path of a file below a folder; None for what must not or need not be kept."""
    parts = PurePosixPath(name).parts
    if not parts or name.endswith("/") or len(name) > LONGEST_PATH or not name.isprintable():
        return None
    if "\\" in name or ":" in name or name.startswith("/"):
        return None
    hidden = any(part.startswith(".") or part in IGNORED_FOLDERS for part in parts)
    if hidden or "__MACOSX" in parts:
        return None
    kind = mimetypes.guess_type(parts[-1])[0] or ""
    return None if kind.startswith(MEDIA) else PurePosixPath(*parts)


ALLOW = text(
    "INSERT INTO allowed_sources (book_id, source) VALUES (:book_id, :source) "
    "ON CONFLICT (book_id, source) DO NOTHING"
)


class AllowedSources:
    """The folders and addresses that an operator named for each book. What a book or a job says of
    itself is no proof: it may have come with an import or a backup, which somebody else wrote. So
    this is kept apart from the books, and nothing that writes those can allow anything."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def has(self, book_id: str, source: str) -> bool:
        allowed = allowed_sources.c
        query = select(allowed.source).where(allowed.book_id == book_id, allowed.source == source)
        return bool(await self.database.look_up(query))

    async def allow(self, book_id: str, source: str) -> None:
        if not await self.has(book_id, source):
            await self.database.change(ALLOW, book_id=book_id, source=source)

    async def forget(self, book_id: str) -> None:
        of_book = allowed_sources.c.book_id == book_id
        await self.database.change(delete(allowed_sources).where(of_book))

    async def check(self, book_id: str, source: str) -> None:
        """To be asked when the source is read, not when it is stored: a folder may have been
        replaced by a link in between."""
        action = (
            f"Run `bythebook ingest PATH --book {book_id}` once, where the service runs, with the "
            "folder or address that is meant."
        )
        if not await self.has(book_id, source):
            raise NotAllowed(
                f"This service may not read {book_id} from the place that an import or a backup "
                "gives as its source: nobody allowed that.",
                action=action,
                details={"book_id": book_id},
            )
        if stored_address(source) is None and not await asyncio.to_thread(_is_resolved, source):
            raise NotAllowed(
                f"The path of {book_id} leads to another place than before.",
                action=action,
                details={"book_id": book_id},
            )


class Sources(AllowedSources):
    """Finds or fetches the book to ingest, if it may be read from there."""

    def __init__(self, settings: Settings, database: Database) -> None:
        super().__init__(database)
        self.settings = settings
        # What is fetched is kept in the home, so the lock is there.
        self.locks = FileLocks(settings.home)
        self.choices = Choices(database)
        self.uploads = Uploads(settings.home, settings.max_file_mb * 1_000_000)

    async def named_book(
        self, source: str, book_id: str | None, on_fetch: OnFetch
    ) -> tuple[Book, str]:
        """From where an operator says that it is, which may be read from now on."""
        book, kept = await self.fetched_book(source, book_id, on_fetch)
        await self.allow(book.book_id, kept)
        return book, kept

    async def book_of(
        self, job: IngestionJob, before: Callable[[], Awaitable[None]] | None = None
    ) -> Book:
        """The book of a job that was queued, if it may be read from there."""
        await self.check(job.book_id, job.source or "")
        if before is not None:
            await before()
        return (await self.fetched_book(job.source or "", job.book_id))[0]

    async def fetched_book(
        self, source: str, book_id: str | None, on_fetch: OnFetch = lambda _report: None
    ) -> tuple[Book, str]:
        """The book, fetched first if it is elsewhere, and its source as it is to be stored."""
        if (address := find_address(source)) is None:
            book, kept = await asyncio.to_thread(_book_in, Path(source), book_id)
            if book_id is None:
                book = replace(book, book_id=await self.kept_id(book, kept))
        else:
            from bythebook.fetching.fetch import fetch, kept_book

            self.check_room()
            home, kept = self.settings.home, address.text
            async with self.locks.writing(address.key):
                report = await fetch(address, self.settings, on_fetch)
                book = await asyncio.to_thread(kept_book, address, home, book_id, report)
        return await self._without_removed(book), kept

    async def kept_id(self, book: Book, source: str) -> str:
        """The id of a book whose id was not chosen: a book that was read from there before keeps
        its own, whatever a folder is named after by now."""
        if book.manifest.book.id is not None:
            return book.book_id
        rows = await self.database.look_up(select(books.c.book_id).where(books.c.source == source))
        # What came with an import may name any place.
        known = [row["book_id"] for row in rows if await self.has(row["book_id"], source)]
        if len(known) == 1:
            return str(known[0])
        if is_generic(Path(source)):  # named after the title of a site, which may be anybody's
            await self._check_free(book.book_id)
        return book.book_id

    async def _check_free(self, book_id: str) -> None:
        rows = await self.database.look_up(select(books.c.source).where(books.c.book_id == book_id))
        if rows:
            raise InputError(
                f"There is a book {book_id} already, read from {rows[0]['source']}.",
                action=f"Give this one an id (`--book ID`), or `--book {book_id}` if it replaces "
                "that one.",
                details={"field": "book_id"},
            )

    def check_room(self) -> None:
        """For whoever is about to write much: raises DiskFull unless the reserve is free."""
        check_room(self.settings.home, self.settings.disk_reserve)

    async def kept_book(self, source: str, book_id: str | None) -> Book:
        """The book as it is here; nobody elsewhere is asked."""
        if (address := find_address(source)) is None:
            found = await asyncio.to_thread(find_book, Path(source), book_id)
        else:
            from bythebook.fetching.fetch import kept_book

            found = await asyncio.to_thread(kept_book, address, self.settings.home, book_id)
        return await self._without_removed(found)

    async def _without_removed(self, book: Book) -> Book:
        """The book as its source has it, but for the pages that an operator took out."""
        removed = await self.choices.removed_pages(book.book_id)
        if not removed.intersection(book.files):
            return book
        return replace(
            book,
            files=tuple(file for file in book.files if file not in removed),
            contents=tuple(entry for entry in book.contents if entry.source_file not in removed),
        )

    async def forget_book(self, book: BookInfo, others: Iterable[BookInfo]) -> None:
        """Remove what was uploaded or fetched for a book, unless one of the others is made of the
        same; and what was chosen for it."""
        await self.forget(book.book_id)
        await self.choices.forget(book.book_id)
        await asyncio.to_thread(self.uploads.forget, book.book_id)
        address = stored_address(book.source)
        needed = [stored_address(other.source) for other in others]
        if address and address.key not in {other.key for other in needed if other}:
            from bythebook.fetching.fetch import forget

            async with self.locks.writing(address.key):
                await asyncio.to_thread(forget, address, self.settings.home)


def _book_in(path: Path, book_id: str | None) -> tuple[Book, str]:
    return find_book(path, book_id), str(path.resolve())


def _is_resolved(source: str) -> bool:
    try:
        return str(Path(source).resolve()) == source
    except (OSError, RuntimeError, ValueError):  # a circle of links, or no name of a file
        return False
