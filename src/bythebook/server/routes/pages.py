"""The page, the admin's page, the widget, and the files that they are made of."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

FOLDER = Path(__file__).parents[2] / "web"

router = APIRouter(include_in_schema=False)

# What a file is, is said here and not guessed by the machine's own tables.
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


@dataclass(frozen=True)
class WebFile:
    plain: bytes
    zipped: bytes
    media_type: str
    digest: str


@router.get("/")
async def chat_page(request: Request) -> Response:
    return _answer(request, "index.html", PAGE_HEADERS)


@router.get("/admin")
async def admin_page(request: Request) -> Response:
    return _answer(request, "admin.html", PAGE_HEADERS)


@router.get("/widget.js")
async def widget(request: Request) -> Response:
    return _answer(request, "widget.js", FILE_HEADERS)


@router.get("/web/{path:path}")
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
    if _has_it(request.headers.get("if-none-match", ""), etag):
        return Response(status_code=304, headers=headers)
    headers["Content-Type"] = file.media_type
    if zips:
        return Response(file.zipped, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.plain, headers=headers)


def _has_it(if_none_match: str, etag: str) -> bool:
    named = {name.strip().removeprefix("W/") for name in if_none_match.split(",")}
    return etag in named or "*" in named


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
