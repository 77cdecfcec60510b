"""The HTTP app: its routes and middlewares."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from bythebook import __version__
from bythebook.server.auth import KeyMiddleware
from bythebook.server.body import BodyLimit
from bythebook.server.caller import listed_origins
from bythebook.server.error_responses import handle_problems
from bythebook.server.middleware import (
    ConcurrencyLimit,
    CrossOrigin,
    RequestMiddleware,
    RequestSlots,
)
from bythebook.server.prometheus import Metrics
from bythebook.server.routes import (
    admin_book_routes,
    admin_page_routes,
    admin_routes,
    admin_setup_routes,
    books_routes,
    chat_routes,
    ingestion_routes,
    mcp_routes,
    openai_routes,
    operation_routes,
    page_routes,
    platforms_routes,
)
from bythebook.server.service import Service
from bythebook.settings import Settings

ABOUT = """\
Answers questions about a book only from what the book says.

Send a key as `Authorization: Bearer KEY` or `X-API-Key: KEY`; on a service without keys, which
listens to its own machine only, none is needed. Every error has the same body (`Problem`), below
`/v1` that of OpenAI's API (`CompletionProblem`). Every response names its request in
`X-Request-ID`. Programs that speak the Model Context Protocol find it at `/mcp`.
"""
ROUTE_MODULES = (
    chat_routes,
    books_routes,
    openai_routes,
    mcp_routes,
    platforms_routes,
    ingestion_routes,
    admin_routes,
    admin_book_routes,
    admin_page_routes,
    admin_setup_routes,
    operation_routes,
    page_routes,
)


def make_app(settings: Settings, service: Service | None = None) -> FastAPI:
    """The app; without a service it can only tell of its routes."""
    app = FastAPI(
        title="bythebook",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=mcp_routes.running_mcp,
        redirect_slashes=False,
    )
    app.state.service = service
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    # As they are: `include_router` would build each a second time, when it is first asked for.
    routes = [each for module in ROUTE_MODULES for each in module.router.routes]
    app.router.routes.extend(routes)
    for route in routes:
        if isinstance(route, APIRoute):
            route.operation_id = route.name
    handle_problems(app, routes)
    # The last one added is the outermost.
    slots = RequestSlots(settings.max_concurrent)
    app.add_middleware(ConcurrencyLimit, slots=slots, counts=True)
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_kb * 1024)
    app.add_middleware(KeyMiddleware, routes=routes)
    app.add_middleware(ConcurrencyLimit, slots=slots, counts=False)
    app.add_middleware(CrossOrigin, listed=listed_origins(settings))
    app.add_middleware(RequestMiddleware, metrics=service.metrics if service else Metrics())
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's OpenAPI document, without its own validation errors, which ours replace."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        models = document["components"]["schemas"]
        for model in ("HTTPValidationError", "ValidationError"):
            models.pop(model, None)
        for methods in document["paths"].values():
            for route in methods.values():
                route["responses"].pop("422", None)
                for response in route["responses"].values():
                    for content in response.get("content", {}).values():
                        _add_nulls(content.get("example"), content.get("schema", {}), models)
        for schema in models.values():
            for example in (schema.get("example"), *schema.get("examples", ())):
                _add_nulls(example, schema, models)
    assert app.openapi_schema is not None
    return app.openapi_schema


def _add_nulls(example: Any, schema: dict[str, Any], models: dict[str, Any]) -> None:
    """FastAPI takes every null out of an example, also that of a field which is always there."""
    others = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if len(others) == 1:
        schema = others[0]
    schema = models[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if isinstance(example, list):
        for item in example:
            _add_nulls(item, schema.get("items", {}), models)
    elif isinstance(example, dict):
        fields = schema.get("properties", {})
        for name, value in example.items():
            _add_nulls(value, fields.get(name, {}), models)
        if missing := [name for name in schema.get("required", ()) if name not in example]:
            whole = {**dict.fromkeys(missing), **example}
            example.clear()
            example |= {name: whole[name] for name in [*fields, *whole] if name in whole}
