"""Single pages of a book: an operator removes them, brings them back, or deletes their files."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from bythebook.errors import BookError, BookNotFound
from bythebook.models.job import IngestionJob
from bythebook.reading.slugs import natural_key
from bythebook.server.auth import Admin, Serving
from bythebook.server.error_responses import keyed
from bythebook.server.managed_books import FolderSource, remove_page
from bythebook.server.routes.admin_book_routes import BookId, FilePath, ManagedBook
from bythebook.server.routes.ingestion_routes import LOCATION
from bythebook.server.service import Service

router = APIRouter(prefix="/admin/books/{book_id}", tags=["admin"])


class RemovedPages(BaseModel):
    """Pages that an operator removed, and which can be brought back."""

    model_config = ConfigDict(json_schema_extra={"example": {"pages": ["part-1/draft.md"]}})

    pages: list[str]


@router.delete(
    "/pages/{page:path}",
    summary="Remove a page",
    response_description="The book without it.",
    responses=keyed(404, 409),
)
async def remove_one_page(
    book_id: BookId, page: FilePath, service: Serving, caller: Admin
) -> ManagedBook:
    """It is gone from answers at once, and is passed over when the book is read again. Its file
    stays where it is."""
    await caller.book(service.library, book_id)
    return ManagedBook.of(await remove_page(service.library, book_id, page), service)


@router.get("/removed", summary="The pages that were removed", responses=keyed(404))
async def removed(book_id: BookId, service: Serving, caller: Admin) -> RemovedPages:
    """In the order of their paths."""
    await caller.book(service.library, book_id)
    found = await service.library.sources.choices.removed_pages(book_id)
    return RemovedPages(pages=sorted(found, key=natural_key))


@router.put(
    "/pages/{page:path}",
    summary="Bring a removed page back",
    status_code=202,
    response_description="The job that reads it.",
    responses={202: {"headers": LOCATION}, **keyed(404, 409)},
)
async def bring_back(
    book_id: BookId, page: FilePath, service: Serving, caller: Admin, response: Response
) -> IngestionJob:
    """The page is in answers again when the job has ended, if its source still has it."""
    book = await caller.book(service.library, book_id)
    sources = service.library.sources
    sources.check_room()
    await sources.check(book_id, book.source)
    await _check_removed(service, book_id, page)
    await sources.choices.bring_back(book_id, [page])
    try:
        job = await service.worker.submit(FolderSource(book_id, book.source))
    except BookError:  # so that it can be tried again
        await sources.choices.remove_page(book_id, page)
        raise
    response.headers["Location"] = f"/ingestion/status/{job.job_id}"
    return job


@router.delete(
    "/removed/{page:path}",
    summary="Delete the uploaded file of a removed page",
    status_code=204,
    responses=keyed(404),
)
async def delete_file(book_id: BookId, page: FilePath, service: Serving, caller: Admin) -> None:
    """For good. A file that was not uploaded is not deleted."""
    book = await caller.book(service.library, book_id)
    await _check_removed(service, book_id, page)
    sources = service.library.sources
    if not sources.uploads.holds(book_id, book.source):
        raise BookNotFound(
            f"The file {page!r} was not uploaded.", action="Delete it where the book is read from."
        )
    await asyncio.to_thread(sources.uploads.remove, book_id, page)
    await sources.choices.bring_back(book_id, [page])


async def _check_removed(service: Service, book_id: str, page: str) -> None:
    if page not in await service.library.sources.choices.removed_pages(book_id):
        raise BookNotFound(
            f"No page {page!r} of {book_id} was removed.",
            action=f"`GET /admin/books/{book_id}/removed` lists those that were.",
            details={"field": "page"},
        )
