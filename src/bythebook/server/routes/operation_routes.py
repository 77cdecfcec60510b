"""How the service is doing, what it offers, and its own documentation."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from bythebook import __version__
from bythebook.models.chat_messages import MAX_MESSAGE, MAX_TOP_K
from bythebook.models.search_messages import MAX_QUERY, MAX_RESULTS
from bythebook.models.service_health import Health, Info, Limits, ReadableBook
from bythebook.models.values import MAX_QUESTION
from bythebook.server.auth import Admin, Searcher, Serving
from bythebook.server.error_responses import keyed
from bythebook.server.markdown_page import PAGE_POLICY, page
from bythebook.server.reference import reference

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
    found = await service.health.check(service)
    status = 503 if found.status == "down" else 200
    return JSONResponse(found.model_dump(mode="json", exclude_none=True), status)


@router.get("/info", summary="What the service offers", response_model=Info, responses=keyed())
async def info(service: Serving, caller: Searcher) -> Info:
    """Its version, the books of the caller, and its limits."""
    books = await caller.books(service.library)
    settings = service.settings
    return Info(
        name="bythebook",
        version=__version__,
        books=[ReadableBook.model_validate(book, from_attributes=True) for book in books],
        answerer="language model" if service.assistant.language_model else "built-in",
        model=service.assistant.model_name,
        embedder=service.library.embedder.name,
        limits=Limits(
            chat_message_characters=MAX_MESSAGE,
            agent_message_characters=MAX_QUESTION,
            top_k=MAX_TOP_K,
            search_characters=MAX_QUERY,
            search_results=MAX_RESULTS,
            turns=settings.max_conversation_turns,
            body_bytes=settings.max_body_kb * 1024,
            requests_per_minute=settings.rate_limit or None,
        ),
        links=LINKS,
    )


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
    service.metrics.jobs_waiting.set(await service.worker.count_waiting())
    service.metrics.dependencies(await service.health.check(service))
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
