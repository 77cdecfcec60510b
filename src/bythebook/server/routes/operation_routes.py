"""How the service is doing, what it offers, and its own documentation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from bythebook import __version__
from bythebook.models.chat_messages import AgentRequest, ChatRequest
from bythebook.models.chunk import BookInfo
from bythebook.models.search_messages import SearchQuery
from bythebook.models.service_health import Health, Info, Limits, ReadableBook
from bythebook.server.auth import Admin, Reader, Serving
from bythebook.server.error_responses import keyed
from bythebook.server.health import check_health
from bythebook.server.reference import PAGE_POLICY, page, reference
from bythebook.server.service import Service
from bythebook.settings import Settings

router = APIRouter(tags=["operations"])

LINKS = {
    "docs": "/docs",
    "openapi": "/openapi.json",
    "health": "/health",
    "metrics": "/metrics",
}


@router.get(
    "/health",
    summary="Whether the service and all it depends on work",
    response_model=Health,
    responses={503: {"model": Health, "description": "Something it needs is down."}},
)
async def health(service: Serving) -> JSONResponse:
    """Needs no key. `degraded` means that it answers, but with limits."""
    found = await check_health(service)
    status = 503 if found.status == "down" else 200
    return JSONResponse(found.model_dump(mode="json", exclude_none=True), status)


@router.get("/info", summary="What the service offers", response_model=Info, responses=keyed())
async def info(service: Serving, caller: Reader) -> Info:
    """Its version, the books of the caller, and its limits."""
    return await make_info(service, caller.may_read)


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={
        **keyed(),
        200: {
            "description": "In Prometheus' text format.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
    },
)
async def metrics(service: Serving, caller: Admin) -> Response:
    service.metrics.jobs_waiting(await service.worker.count_waiting())
    service.metrics.dependencies(await check_health(service))
    body, content_type = service.metrics.render()
    return Response(body, headers={"Content-Type": content_type})


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    return HTMLResponse(
        _page(request.app.openapi), headers={"Content-Security-Policy": PAGE_POLICY}
    )


@cache
def _page(openapi: Any) -> str:
    """Made once: the routes of an app don't change."""
    return page(reference(openapi()))


async def make_info(service: Service, may_read: Callable[[str], bool]) -> Info:
    """What the service is, and the books that this caller may read."""
    books = await service.library.books()
    return Info(
        name="bythebook",
        version=__version__,
        books=[_readable(book) for book in books if may_read(book.book_id)],
        answerer="language model" if service.assistant.language_model else "built-in",
        model=service.assistant.model_name,
        embedder=service.library.embedder.name,
        limits=_limits(service.settings),
        links=LINKS,
    )


def _readable(book: BookInfo) -> ReadableBook:
    moments = [book.last_full_ingest, book.last_incremental_update]
    return ReadableBook(
        book_id=book.book_id,
        title=book.title,
        language=book.language,
        total_chunks=book.total_chunks,
        total_files=book.total_files,
        base_url=book.base_url,
        updated_at=max((moment for moment in moments if moment), default=None),
    )


def _limits(settings: Settings) -> Limits:
    chat = ChatRequest.model_json_schema()["properties"]
    agent = AgentRequest.model_json_schema()["properties"]
    search = SearchQuery.model_json_schema()["properties"]
    return Limits(
        chat_message_characters=chat["message"]["maxLength"],
        agent_message_characters=agent["message"]["maxLength"],
        top_k=chat["top_k"]["anyOf"][0]["maximum"],
        search_characters=search["text"]["maxLength"],
        search_results=search["limit"]["maximum"],
        turns=settings.max_conversation_turns,
        body_bytes=settings.max_body_kb * 1024,
        requests_per_minute=settings.rate_limit or None,
    )
