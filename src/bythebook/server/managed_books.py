"""Where a service may find a new book, and what an operator changes of one that was read."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path, PurePath

from bythebook.errors import BookNotFound, InputError
from bythebook.fetching.address import Repository, find_address, is_address
from bythebook.ingestion.points import book_filter
from bythebook.library import Library
from bythebook.models.chunk import BookInfo
from bythebook.models.values import check_book_id
from bythebook.reading.layout import find_book


@dataclass(frozen=True)
class FolderSource:
    """A book and where to read it from: a folder, a file, a web or git address."""

    book_id: str
    place: Path | str


async def find_new_book(
    books_folder: Path | None, path: str, book_id: str | None, *, elsewhere: bool = False
) -> FolderSource:
    """The book that a request named: a folder or file below the books folder, or, if `elsewhere`
    is allowed, a web or git address."""
    if "://" in path:
        return find_elsewhere(path, book_id, allowed=elsewhere)
    return await asyncio.to_thread(_find, books_folder, path, book_id)


def find_elsewhere(
    path: str, book_id: str | None, *, allowed: bool, field: str = "path"
) -> FolderSource:
    """Only by HTTP: over SSH the service would show its own key to whom the request names."""
    if not allowed:
        raise _refused(
            "This service fetches no new books from elsewhere.",
            "Ingest it with `bythebook ingest` once, or unset BYTHEBOOK_FETCH_OVER_HTTP.",
            field,
        )
    try:
        address = find_address(path)
    except InputError as problem:
        raise _refused(problem.message, problem.action, field) from problem
    if address is None or (isinstance(address, Repository) and not address.is_web):
        message = "Only addresses with http or https are fetched."
        raise _refused(message, "Give such an address.", field)
    return FolderSource(book_id or check_book_id(address.book_id), address.text)


def _find(books_folder: Path | None, path: str, book_id: str | None) -> FolderSource:
    if books_folder is None:
        raise _refused(
            "This service ingests only books that the index knows.",
            "Leave `path` out, or set BYTHEBOOK_BOOKS_FOLDER to the folder that new books are in.",
        )
    folder = folder_below(books_folder, path)
    try:
        if is_address(str(folder)):  # a bare repository is no folder of pages
            raise InputError("The path leads to a git repository.", action="Give a folder.")
        return FolderSource(find_book(folder, book_id).book_id, folder)
    except InputError as problem:
        raise _refused(problem.message, problem.action) from problem


def is_named_after(books_folder: Path, source: FolderSource) -> bool:
    """Whether it lies right in the books folder under the book's own name. What the folder says
    of itself does not count: its author may name any book."""
    place = source.place
    if not isinstance(place, Path) or place.parent != books_folder.resolve():
        return False
    return source.book_id == (place.stem if place.is_file() else place.name)


def folder_below(books_folder: Path, path: str) -> Path:
    """The folder or file itself, without links. What lies outside is refused in the same words
    whether it exists or not."""
    outside = _refused(
        "The path does not lead to a folder or file in the books folder.",
        "Give the path of a folder or file relative to BYTHEBOOK_BOOKS_FOLDER, without `..`.",
    )
    if "\0" in path or "://" in path or path.startswith("~") or ".." in PurePath(path).parts:
        raise outside
    try:
        top = books_folder.resolve(strict=True)
        folder = (top / path).resolve()
        inside = folder != top and folder.is_relative_to(top)
        inside = inside and (folder.is_dir() or folder.is_file())
    except (OSError, RuntimeError, ValueError):  # a circle of links, or a name no system can hold
        raise outside from None
    if not inside:
        raise outside
    return folder


def _refused(message: str, action: str, field: str = "path") -> InputError:
    return InputError(message, action=action, details={"field": field})


async def rename_book(library: Library, book_id: str, title: str) -> BookInfo:
    """Give a book another title, which it keeps when it is read again."""
    await library.known.get(book_id)
    await library.sources.choices.give_title(book_id, title)
    library.known.note_change()
    return await library.known.get(book_id)


async def remove_page(library: Library, book_id: str, page: str) -> BookInfo:
    """Take one page out of a book, for good."""
    async with library.locks.writing(book_id):
        book = await library.known.get(book_id)
        pages = await library.known.files(book_id)
        if page not in pages:
            raise BookNotFound(
                f"The book {book_id} has no page {page!r}.",
                action=f"`GET /admin/books/{book_id}/pages` lists its pages.",
                details={"field": "page"},
            )
        if len(pages) == 1:
            raise InputError(
                "This is the only page of the book.",
                action="Remove the whole book instead.",
                details={"field": "page"},
            )
        store = await library.store()
        # First what keeps it out: whoever is interrupted here can simply do it again.
        await library.sources.remove_page(book, page)
        await library.catalog.doubt(book_id, [page])
        await store.delete(book_filter(book_id, source_file=page))
        await store.flush()
        await library.catalog.forget_file(book_id, page)
        library.known.note_change()
    return await library.known.get(book_id)
