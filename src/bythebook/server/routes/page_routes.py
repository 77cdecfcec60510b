"""The chat page, the admin page and the widget, with their files and the widget's settings."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Self

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from bythebook.errors import InputError
from bythebook.models.key import checked_origin
from bythebook.server.auth import Serving
from bythebook.server.caller import is_listed, listed_origins
from bythebook.server.error_responses import problems

FOLDER = Path(__file__).parents[2] / "web"

router = APIRouter()

# Media types, independent of the tables of the machine.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {"Content-Security-Policy": POLICY}
# A page on another site loads these as modules, which asks for its permission.
FILE_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


class WidgetSettings(BaseModel):
    """Whether pages of a site may use the service, and how that is allowed."""

    model_config = ConfigDict(
        json_schema_extra=lambda schema: schema.update(
            example=WidgetSettings.refused("http://localhost:3000").model_dump()
        )
    )

    origin: str | None = Field(description="The site, as the browser named it.")
    allowed: bool
    message: str = Field(description="What to tell a reader where it is not allowed.")
    suggested_action: str = Field(description="What whoever runs the service does about it.")

    @classmethod
    def refused(cls, site: str) -> Self:
        return cls(
            origin=site,
            allowed=False,
            message=f"The service does not answer pages of {site}.",
            suggested_action="Whoever runs it allows them with `bythebook keys create site "
            f"--publishable --book BOOK --origin {site}`, or with Keys on its page /admin.",
        )


@dataclass(frozen=True)
class WebFile:
    plain: bytes
    zipped: bytes
    media_type: str
    digest: str


@router.get("/", include_in_schema=False)
async def chat_page(request: Request) -> Response:
    return _answer(request, "index.html", PAGE_HEADERS)


@router.get("/admin", include_in_schema=False)
async def admin_page(request: Request) -> Response:
    return _answer(request, "admin.html", PAGE_HEADERS)


@router.get("/widget.js", include_in_schema=False)
async def widget(request: Request) -> Response:
    return _answer(request, "widget.js", FILE_HEADERS)


@router.get(
    "/widget/settings",
    tags=["books"],
    summary="Whether a site may use the service",
    response_description="The answer for the site that asks.",
    responses=problems(),
)
async def widget_settings(
    request: Request,
    response: Response,
    service: Serving,
    origin: Annotated[str, Header(description="Set by the browser.")] = "",
) -> WidgetSettings:
    """A page of any site may read this, since browsers do not show it why another request was
    refused. It tells no more than the CORS headers of every answer do."""
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    own = f"{request.url.scheme}://{request.url.netloc}"
    allowed = {"", own, *listed_origins(service.settings), *await service.keys.origins()}
    if is_listed(origin, allowed):
        return WidgetSettings(origin=origin or None, allowed=True, message="", suggested_action="")
    try:
        return WidgetSettings.refused(checked_origin(origin))
    except InputError:  # a page from a file or a frame without an origin, which says "null"
        return WidgetSettings(
            origin=origin,
            allowed=False,
            message="The service answers only pages of sites, and this page is of none.",
            suggested_action="Open it from a web server instead of as a file.",
        )


@router.get("/web/{path:path}", include_in_schema=False)
async def web_file(request: Request, path: str) -> Response:
    # The pages have addresses of their own, with their policy.
    if path.endswith(".html"):
        raise HTTPException(404)
    return _answer(request, path, FILE_HEADERS)


def _answer(request: Request, path: str, headers: dict[str, str]) -> Response:
    file = _files().get(path)
    if file is None:
        raise HTTPException(404)
    zips = "gzip" in request.headers.get("accept-encoding", "")
    etag = f'"{file.digest}-gzip"' if zips else f'"{file.digest}"'
    headers = {**headers, "ETag": etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    named = request.headers.get("if-none-match", "").split(",")
    if {etag, "*"} & {name.strip().removeprefix("W/") for name in named}:
        return Response(status_code=304, headers=headers)
    headers["Content-Type"] = file.media_type
    if zips:
        return Response(file.zipped, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.plain, headers=headers)


@cache
def _files() -> dict[str, WebFile]:
    """All of them, by their path: what is not among them is not served."""
    return {
        file.relative_to(FOLDER).as_posix(): _read(file)
        for file in sorted(FOLDER.rglob("*"))
        if file.suffix in TYPES
    }


def _read(file: Path) -> WebFile:
    body = file.read_bytes()
    zipped = gzip.compress(body, mtime=0)
    return WebFile(body, zipped, TYPES[file.suffix], hashlib.sha256(body).hexdigest()[:32])
