"""Bringing books into the index over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi import Path as InPath
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from bythebook.errors import BookNotFound, InputError, NotAllowed
from bythebook.fetching.address import Repository, stored_address
from bythebook.ingestion.jobs import MAX_JOB_ID, no_such_job
from bythebook.models.examples import PIECES
from bythebook.models.job import BookChanges, IngestionJob
from bythebook.models.values import BOOK_ID, IngestionMode
from bythebook.server.auth import Admin, Serving
from bythebook.server.caller import Caller
from bythebook.server.error_responses import keyed, problems
from bythebook.server.managed_books import FolderSource, find_new_book, is_named_after
from bythebook.server.service import Service
from bythebook.server.webhook import Deliveries, Push, check_signature, origin_of, read_push

router = APIRouter(prefix="/ingestion", tags=["ingestion"])

BookId = Annotated[str | None, Query(pattern=BOOK_ID, description="Id of a book.")]
NewPath = Annotated[
    str | None,
    Query(
        min_length=1, max_length=1000, description="Folder or file below BYTHEBOOK_BOOKS_FOLDER."
    ),
]
LOCATION: dict[str, Any] = {
    "Location": {"description": "Address of the job's status.", "schema": {"type": "string"}}
}


class IngestionRequest(BaseModel):
    """Which book to bring up to date: one that the index knows, or one below the books folder."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": PIECES["ingestion_request"]}
    )

    book_id: str | None = Field(
        default=None,
        pattern=BOOK_ID,
        description="Id of the book; default: the only book, or the configured one.",
    )
    path: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Folder or file of the book below BYTHEBOOK_BOOKS_FOLDER, or a web or git "
        "address unless BYTHEBOOK_FETCH_OVER_HTTP is false; where it was last read from without "
        "it.",
    )
    mode: IngestionMode = Field(
        default="incremental",
        description="incremental: only what changed; full: read every file again, reusing "
        "vectors; recreate: build the book's index anew.",
    )


class WebhookReply(BaseModel):
    """A webhook that needs no action."""

    model_config = ConfigDict(json_schema_extra={"examples": PIECES["webhook_reply"]})

    status: Literal["pong", "ignored"]
    reason: str | None = None


@router.post(
    "/trigger",
    summary="Bring a book up to date",
    status_code=202,
    response_description="The queued job.",
    responses={202: {"headers": LOCATION}, **keyed(404, 409)},
)
async def trigger(
    request: IngestionRequest, caller: Admin, service: Serving, response: Response
) -> IngestionJob:
    """Queue an ingest of a book. Questions are answered meanwhile; one job runs at a time."""
    service.library.sources.check_room()
    source = await _source(caller, service, request.book_id, request.path)
    if request.path is not None:
        await service.library.sources.allow(source.book_id, str(source.place))
    job = await service.worker.submit(source, request.mode)
    response.headers["Location"] = _job_address(job)
    return job


@router.get("/status", summary="List ingestion jobs", responses=keyed(404))
async def jobs(
    caller: Admin,
    service: Serving,
    book_id: BookId = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many jobs.")] = 50,
) -> list[IngestionJob]:
    """Jobs, newest first, of one book or of all."""
    return await service.library.jobs(book_id, limit, books=caller.only(book_id))


@router.get("/status/{job_id}", summary="Follow an ingestion job", responses=keyed(404))
async def job(
    job_id: Annotated[int, InPath(ge=1, le=MAX_JOB_ID)], caller: Admin, service: Serving
) -> IngestionJob:
    """The progress of a job, or its result."""
    found = await service.library.job(job_id)
    if not caller.may_read(found.book_id):
        raise no_such_job(job_id)
    return found


@router.get("/changes", summary="What an ingest would do", responses=keyed(404))
async def changes(
    caller: Admin, service: Serving, book_id: BookId = None, path: NewPath = None
) -> BookChanges:
    """Compare a book's files with the index; nothing is written."""
    source = await _source(caller, service, book_id, path)
    return await service.library.changes(source.place, book_id=source.book_id)


@router.post(
    "/webhook/github",
    summary="Take a push from GitHub",
    response_model=WebhookReply,
    response_description="There is nothing to do.",
    responses={
        202: {"model": IngestionJob, "description": "The job.", "headers": LOCATION},
        **problems(400, 401, 403, 404, 409),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "GitHub's event, as it was signed.",
            "content": {
                "application/json": {
                    "schema": {"type": "object"},
                    "example": {
                        "ref": "refs/heads/main",
                        "repository": {"default_branch": "main"},
                    },
                }
            },
        }
    },
)
async def webhook(
    request: Request,
    service: Serving,
    book_id: BookId = None,
    x_hub_signature_256: Annotated[
        str | None, Header(description="HMAC-SHA256 of the body, as `sha256=…`.")
    ] = None,
    x_github_event: Annotated[str | None, Header(description="`push` or `ping`.")] = None,
) -> WebhookReply | JSONResponse:
    """A push to the default branch, or to the one that the book was ingested from, brings the book
    up to date: from its git address, or after a `git pull` where its folder is a checkout. The
    signature takes the place of a key."""
    body = await request.body()
    check_signature(service.settings.webhook_secret, x_hub_signature_256, body)
    if x_github_event == "ping":
        return WebhookReply(status="pong")
    if x_github_event != "push":
        return WebhookReply(status="ignored", reason="It is not a push.")
    push = read_push(body)
    ignored = push.why_ignored(await _branch(service, book_id))
    if ignored:
        return WebhookReply(status="ignored", reason=ignored)
    queued = await _take_push(service, book_id, body, push)
    headers = {"Location": _job_address(queued)}
    return JSONResponse(queued.model_dump(mode="json"), 202, headers)


async def _branch(service: Service, book_id: str | None) -> str | None:
    """The branch that was chosen for a book from a git address."""
    try:
        address = stored_address((await service.library.book(book_id)).source)
    except BookNotFound:  # said once it matters
        return None
    return address.ref or None if isinstance(address, Repository) else None


async def _take_push(
    service: Service, book_id: str | None, body: bytes, push: Push
) -> IngestionJob:
    book = await service.library.book(book_id)
    await service.library.sources.check(book.book_id, book.source)
    seen = Deliveries(service.library.engine)
    is_its = push.repository.is_at(await origin_of(book.source))
    noted = await seen.note_push(book.book_id, body, of_repository=is_its)
    try:
        return await service.worker.submit(FolderSource(book.book_id, book.source), push=True)
    except BaseException:
        await seen.forget(noted)
        raise


async def _source(
    caller: Caller, service: Service, book_id: str | None, path: str | None
) -> FolderSource:
    """Where to read a book from: where an operator said, or what this caller may say."""
    if path is None:
        book = await caller.book(service.library, book_id)
        await service.library.sources.check(book.book_id, book.source)
        return FolderSource(book.book_id, book.source)
    if book_id is not None:
        caller.check_may_read(book_id)
    settings = service.settings
    try:
        source = await find_new_book(
            settings.books_folder,
            path,
            book_id,
            elsewhere=settings.fetch_over_http,
            sources=service.library.sources,
        )
    except InputError:
        if caller.is_bound:  # whether there is such a folder is not theirs to know
            raise _not_theirs() from None
        raise
    if caller.is_bound and not await _is_theirs(caller, service, source):
        raise _not_theirs()
    return source


async def _is_theirs(caller: Caller, service: Service, source: FolderSource) -> bool:
    """Whose key is for certain books names only what an operator gave to one of them: a place that
    it was read from, or the folder in the books folder that is called as it is."""
    if not caller.may_read(source.book_id):
        return False
    top = service.settings.books_folder
    return await service.library.sources.has(source.book_id, str(source.place)) or (
        top is not None and is_named_after(top, source)
    )


def _not_theirs() -> NotAllowed:
    return NotAllowed(
        "This key is for certain books, and the path is not a place of one of them.",
        action="Leave `path` out, give the folder in the books folder that is called as the book "
        "is, or ask whoever runs the service to ingest the book from there once.",
        details={"field": "path"},
    )


def _job_address(job: IngestionJob) -> str:
    return f"/ingestion/status/{job.job_id}"
