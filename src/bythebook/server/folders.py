"""Where a service may find a book: below one folder, and nowhere else."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path, PurePath

from bythebook.errors import InputError
from bythebook.reading.layout import find_book


@dataclass(frozen=True)
class Source:
    """A book and the folder to read it from."""

    book_id: str
    folder: Path


async def find_new_book(books_folder: Path | None, path: str, book_id: str | None) -> Source:
    """The book in a folder that a request named, which must be below the books folder."""
    return await asyncio.to_thread(_find, books_folder, path, book_id)


def _find(books_folder: Path | None, path: str, book_id: str | None) -> Source:
    if books_folder is None:
        raise _refused(
            "This service ingests only books that the index knows.",
            "Leave `path` out, or set BYTHEBOOK_BOOKS_FOLDER to the folder that new books are in.",
        )
    folder = folder_below(books_folder, path)
    try:
        return Source(find_book(folder, book_id).book_id, folder)
    except InputError as problem:
        raise _refused(problem.message, problem.action) from problem


def folder_below(books_folder: Path, path: str) -> Path:
    """The folder itself, without links. What lies outside is refused in the same words whether it
    exists or not."""
    outside = _refused(
        "The path does not lead to a folder in the books folder.",
        "Give the path of a folder relative to BYTHEBOOK_BOOKS_FOLDER, without `..`.",
    )
    if "\0" in path or "://" in path or path.startswith("~") or ".." in PurePath(path).parts:
        raise outside
    try:
        top = books_folder.resolve(strict=True)
        folder = (top / path).resolve()
        inside = folder != top and folder.is_relative_to(top) and folder.is_dir()
    except (OSError, RuntimeError, ValueError):  # a circle of links, or a name no system can hold
        raise outside from None
    if not inside:
        raise outside
    return folder


def _refused(message: str, action: str) -> InputError:
    return InputError(message, action=action, details={"field": "path"})
