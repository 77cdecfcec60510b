"""Books for an operator with a browser: add, list, rename and remove them."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Request, Response
from fastapi import Path as InPath
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from bythebook.errors import BookNotFound, BusyError, InputError, NotAllowed
from bythebook.fetching.address import Repository, Site, stored_address
from bythebook.models.chunk import BookInfo
from bythebook.models.examples import PIECES, example
from bythebook.models.job import FileChanges, IngestionJob
from bythebook.models.values import BOOK_ID
from bythebook.reading.slugs import humanise
from bythebook.server.auth import Admin, Serving
from bythebook.server.caller import Caller, unknown_book
from bythebook.server.error_responses import keyed
from bythebook.server.managed_books import FolderSource, find_elsewhere, rename_book
from bythebook.server.routes.ingestion_routes import LOCATION
from bythebook.server.service import Service
from bythebook.sources import KINDS

router = APIRouter(prefix="/admin/books", tags=["admin"])

MAX_TITLE = 200


def _checked_title(title: str) -> str:
    title = " ".join(title.split())
    if not title or not title.isprintable():
        raise ValueError("it should be a line of text")
    return title


Title = Annotated[str, AfterValidator(_checked_title)]
BookId = Annotated[str, InPath(pattern=BOOK_ID, description="Id of the book.")]
FilePath = Annotated[
    str,
    InPath(min_length=1, max_length=400, description="Path in the book, such as `part-1/a.md`."),
]
Origin = Literal["uploaded", "folder", "site", "repository"]


class ManagedBook(BaseModel):
    """A book as its operator sees it."""

    book_id: str
    title: str
    kind: Origin = Field(description="Where it comes from.")
    source: str = Field(description="The folder or address that it is read from.")
    files: int = Field(ge=0, description="Pages that were read.")
    passages: int = Field(ge=0)
    updated_at: datetime | None = Field(description="When it was last read; null: never.")
    changes: FileChanges | None = Field(
        default=None, description="What the last ingest found changed; null if that is not known."
    )

    @classmethod
    def of(cls, book: BookInfo, service: Service, changes: FileChanges | None = None) -> Self:
        return cls(
            book_id=book.book_id,
            title=book.title,
            kind=_kind(book, service),
            source=book.source,
            files=book.total_files,
            passages=book.total_chunks,
            updated_at=book.updated_at,
            changes=changes,
        )


class ManagedBooks(BaseModel):
    """The books, and what can be added."""

    books: list[ManagedBook]
    kinds: list[str] = Field(description="Endings of files that can be uploaded.")
    max_file_mb: int = Field(description="Largest file of a book; a .zip may have 50 MB.")
    takes_addresses: bool = Field(description="Whether a site or repository can be added.")
    books_folder: bool = Field(description="Whether folders on the server can be added.")


class NewBook(BaseModel):
    """Files that were uploaded under an id, or the address of a web site or git repository."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": PIECES["new_book"]})

    book_id: str | None = Field(
        default=None, pattern=BOOK_ID, description="Chosen by itself for an address."
    )
    title: Title | None = Field(
        default=None, max_length=MAX_TITLE, description="The book's own title without it."
    )
    address: str | None = Field(
        default=None, min_length=1, max_length=1000, description="Begins with https:// or http://."
    )


class NewTitle(BaseModel):
    """What a book is called from now on."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"title": "Robots"}})

    title: Title = Field(max_length=MAX_TITLE)


class Uploaded(BaseModel):
    """The files that were kept: those in it, of a .zip."""

    model_config = ConfigDict(json_schema_extra={"example": {"files": ["part-1/vectors.md"]}})

    files: list[str]


class BookPage(BaseModel):
    """A page of a book: a file, or what was fetched from an address."""

    model_config = ConfigDict(json_schema_extra=example("book_page"))

    page: str
    title: str
    url: str | None
    passages: int = Field(ge=0)


@router.get("", summary="The books and where they come from", responses=keyed())
async def managed_books(service: Serving, caller: Admin) -> ManagedBooks:
    """Also those whose files were uploaded and which were not read yet."""
    library, settings = service.library, service.settings
    known = await caller.books(library)
    changes = await library.job_table.last_changes()
    listed = [ManagedBook.of(book, service, changes.get(book.book_id)) for book in known]
    uploads = library.sources.uploads
    waiting = set(await asyncio.to_thread(uploads.books)) - {book.book_id for book in known}
    listed += [
        ManagedBook(
            book_id=book_id,
            title=humanise(book_id),
            kind="uploaded",
            source=str(uploads.folder(book_id)),
            files=0,
            passages=0,
            updated_at=None,
        )
        for book_id in sorted(waiting)
        if caller.may_read(book_id)
    ]
    return ManagedBooks(
        books=listed,
        kinds=list(KINDS),
        max_file_mb=settings.max_file_mb,
        takes_addresses=settings.fetch_over_http,
        books_folder=settings.books_folder is not None,
    )


@router.put(
    "/{book_id}/files/{path:path}",
    summary="Upload a file of a book",
    status_code=201,
    response_description="It is kept, and read with the next ingest.",
    responses=keyed(409),
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "The file's bytes.",
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            },
        }
    },
)
async def upload(
    book_id: BookId, path: FilePath, request: Request, service: Serving, caller: Admin
) -> Uploaded:
    """A file of the same path is replaced; of a .zip the files in it are kept. A page that was
    removed comes back with its file. A new book is read once `POST /admin/books` says so. The files
    lie in a folder of the book in BYTHEBOOK_HOME."""
    caller.check_may_read(book_id)
    book = await _known(service, book_id)
    sources = service.library.sources
    if book is not None and not sources.uploads.holds(book_id, book.source):
        raise _taken(book_id)
    sources.check_room()
    body = await request.body()
    kept = await asyncio.to_thread(sources.uploads.put, book_id, path, body)
    await sources.choices.bring_back(book_id, kept)
    return Uploaded(files=kept)


@router.post(
    "",
    summary="Add a book",
    status_code=202,
    response_description="The job that reads it.",
    responses={202: {"headers": LOCATION}, **keyed(404, 409)},
)
async def add(
    request: NewBook, service: Serving, caller: Admin, response: Response
) -> IngestionJob:
    """Reads the files that were uploaded under `book_id`, or a web site or git repository. Follow
    the job at `/ingestion/status/{job_id}`."""
    sources = service.library.sources
    sources.check_room()
    if request.address is None:
        source = await _uploaded(request.book_id, service, caller)
    else:
        if caller.is_bound:
            raise NotAllowed(
                "This key is for certain books, and a new one is none of them.",
                action="Use an admin's key for all books.",
            )
        source = _elsewhere(request.address, request.book_id, service)
        book = await _known(service, source.book_id)
        if book is not None and book.source != source.place:
            raise _taken(source.book_id)
    if request.title is not None:
        await sources.choices.give_title(source.book_id, request.title)
    await sources.allow(source.book_id, str(source.place))
    job = await service.worker.submit(source)
    response.headers["Location"] = f"/ingestion/status/{job.job_id}"
    return job


@router.patch("/{book_id}", summary="Rename a book", responses=keyed(404))
async def rename(
    book_id: BookId, request: NewTitle, service: Serving, caller: Admin
) -> ManagedBook:
    """The book keeps the title when it is read again; its id stays."""
    await caller.book(service.library, book_id)
    renamed = await rename_book(service.library, book_id, request.title)
    changes = await service.library.job_table.last_changes()
    return ManagedBook.of(renamed, service, changes.get(book_id))


@router.delete("/{book_id}", summary="Remove a book", status_code=204, responses=keyed(404, 409))
async def remove(book_id: BookId, service: Serving, caller: Admin) -> None:
    """Takes it out of the index, and deletes what was uploaded or fetched for it. A folder on the
    server stays as it is."""
    caller.check_may_read(book_id)
    library = service.library
    for job in await library.job_table.list(book_id, statuses=["queued"]):
        await library.job_table.give_up(job.job_id, InputError("The book was removed."))
    if await _known(service, book_id):
        await library.remove_book(book_id)
    elif book_id in await asyncio.to_thread(library.sources.uploads.books):
        if await library.locks.is_writing(book_id):
            raise BusyError(f"{book_id} is being read.", action="Try again when it has ended.")
        await asyncio.to_thread(library.sources.uploads.forget, book_id)
        await library.sources.choices.forget(book_id)
    else:
        raise unknown_book(book_id)


@router.get("/{book_id}/pages", summary="The pages of a book", responses=keyed(404))
async def pages(book_id: BookId, service: Serving, caller: Admin) -> list[BookPage]:
    """In the order of their paths."""
    await caller.book(service.library, book_id)
    return [
        BookPage(
            page=page.source_file, title=page.title, url=page.url or None, passages=page.passages
        )
        for page in await service.library.known.pages(book_id)
    ]


async def _known(service: Service, book_id: str) -> BookInfo | None:
    try:
        return await service.library.known.get(book_id)
    except BookNotFound:
        return None


async def _uploaded(book_id: str | None, service: Service, caller: Caller) -> FolderSource:
    if book_id is None:
        raise InputError(
            "Neither uploaded files nor an address was named.",
            action="Give the book_id that files were uploaded under, or an address.",
            details={"field": "book_id"},
        )
    uploads = service.library.sources.uploads
    if not caller.may_read(book_id) or book_id not in await asyncio.to_thread(uploads.books):
        raise unknown_book(book_id)
    book = await _known(service, book_id)
    if book is not None and not uploads.holds(book_id, book.source):
        raise _taken(book_id)
    return FolderSource(book_id, uploads.folder(book_id))


def _elsewhere(address: str, book_id: str | None, service: Service) -> FolderSource:
    if "://" not in address:
        raise InputError(
            "This is not the address of a web site or git repository.",
            action="Give one that begins with https://.",
            details={"field": "address"},
        )
    allowed = service.settings.fetch_over_http
    return find_elsewhere(address, book_id, allowed=allowed, field="address")


def _kind(book: BookInfo, service: Service) -> Origin:
    if service.library.sources.uploads.holds(book.book_id, book.source):
        return "uploaded"
    address = stored_address(book.source)
    if isinstance(address, Site):
        return "site"
    return "repository" if isinstance(address, Repository) else "folder"


def _taken(book_id: str) -> BusyError:
    return BusyError(
        f"There is a book {book_id} already, which is read from elsewhere.",
        action="Give another id, or remove that book first.",
        details={"field": "book_id"},
    )
