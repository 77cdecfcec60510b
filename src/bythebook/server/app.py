"""The HTTP service: routes over what the library and the assistant do, and nothing of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from bythebook import __version__
from bythebook.server.body import BodyLimit
from bythebook.server.crowd import CrowdLimit
from bythebook.server.envelope import Envelope
from bythebook.server.key_first import KeyFirst
from bythebook.server.metrics import Metrics
from bythebook.server.origins import CrossOrigin, listed_origins
from bythebook.server.problems import handle_problems
from bythebook.server.routes import (
    admin,
    books,
    chat,
    feedback,
    ingestion,
    mcp,
    openai,
    operations,
    pages,
    passages,
    platforms,
    sessions,
)
from bythebook.server.service import Service, open_service
from bythebook.settings import Settings

ABOUT = """\
Answers questions about a book only from what the book says.

Send a key as `Authorization: Bearer KEY` or `X-API-Key: KEY`; on a service without keys, which
listens to its own machine only, none is needed. Every error has the same body (`Problem`), below
`/v1` that of OpenAI's API (`CompletionProblem`). Every response names its request in
`X-Request-ID`. Programs that speak the Model Context Protocol find it at `/mcp`.
"""
PARTS = (
    chat,
    feedback,
    sessions,
    books,
    passages,
    openai,
    mcp,
    platforms,
    ingestion,
    admin,
    operations,
    pages,
)


def make_app(settings: Settings, service: Service | None = None) -> FastAPI:
    """The app; without an open service it opens one when it is started."""
    metrics = service.metrics if service else Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if service is not None:
            async with mcp.running_mcp(app):
                yield
            return
        async with open_service(settings, metrics) as opened, mcp.running_mcp(app):
            app.state.service = opened
            yield

    app = FastAPI(
        title="bythebook",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=_name_of,
        redirect_slashes=False,
    )
    app.state.service = service
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    for part in PARTS:
        app.include_router(part.router)
    handle_problems(app)
    # The last one added is the outermost.
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_kb * 1024)
    app.add_middleware(KeyFirst, routes=[each for part in PARTS for each in part.router.routes])
    app.add_middleware(CrowdLimit, most=settings.max_concurrent)
    app.add_middleware(CrossOrigin, listed=listed_origins(settings))
    app.add_middleware(Envelope, metrics=metrics)
    return app


def _described(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document, without the status and models that its own errors would have had."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        for methods in document["paths"].values():
            for route in methods.values():
                route["responses"].pop("422", None)
        for model in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(model, None)
    assert app.openapi_schema is not None
    return app.openapi_schema


def _name_of(route: APIRoute) -> str:
    return route.name
