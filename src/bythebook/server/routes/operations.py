"""How the service is doing, what it offers, and its own documentation."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from bythebook.models.health import Health, Info
from bythebook.server.access import Admin, Reader, Serving
from bythebook.server.health import check_health, make_info
from bythebook.server.problems import keyed
from bythebook.server.reference import PAGE_POLICY, page, reference

router = APIRouter(tags=["operations"])


@router.get(
    "/health",
    summary="Whether the service and all it depends on work",
    response_model=Health,
    responses={503: {"model": Health, "description": "Something it can't do without is down."}},
)
async def health(service: Serving) -> JSONResponse:
    """Needs no key. `degraded` means that it answers, but something is missing."""
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
