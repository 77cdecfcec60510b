"""CORS: pages of which sites may call the service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bythebook.errors import BookError
from bythebook.server.service import Service
from bythebook.settings import Settings

logger = logging.getLogger(__name__)

ANY = "*"
# Seconds that a request waits to hear whether its site is known.
TIMEOUT_SECONDS = 2.0
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-API-Key, X-Request-ID",
    # A key that is revoked stops at once all the same; this only saves asking.
    "Access-Control-Max-Age": "600",
}
EXPOSED = ", ".join(
    (
        "X-Request-ID",
        "X-Session-ID",
        "X-RateLimit-Limit",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
        "Retry-After",
        "Location",
    )
)


def listed_origins(settings: Settings) -> frozenset[str]:
    """The sites of BYTHEBOOK_CORS_ORIGINS."""
    given = (origin.strip() for origin in settings.cors_origins.split(","))
    return frozenset(origin for origin in given if origin)


def is_listed(origin: str, listed: Collection[str]) -> bool:
    return origin in listed or ANY in listed


def is_from_page_of(headers: Headers, origins: Collection[str]) -> bool:
    """Whether a page of one of these sites sent a request. A browser names no origin when a page
    reads from its own site, as where a proxy puts the service below the site's address."""
    if "origin" in headers:
        return headers["origin"] in origins
    if headers.get("sec-fetch-site") != "same-origin":
        return False
    return headers.get("host") in {urlsplit(origin).netloc for origin in origins}


class CrossOrigin:
    """Tells browsers which pages may read the answers: those of the listed sites, and those of the
    sites that a publishable key is for. Keys come and go while the service runs."""

    def __init__(self, app: ASGIApp, listed: frozenset[str]) -> None:
        self.app = app
        self.listed = listed
        self._of_keys: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        origin = headers.get("origin")
        if origin is None:
            await self.app(scope, receive, send)
            return
        is_allowed = is_listed(origin, self.listed) or origin in await self._origins_of_keys(scope)
        if (
            is_allowed
            and scope["method"] == "OPTIONS"
            and "access-control-request-method" in headers
        ):
            response = Response(status_code=200, headers=PREFLIGHT)
            _allow(response.headers, origin)
            await response(scope, receive, send)
            return

        async def send_with_cors(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                if is_allowed and "access-control-allow-origin" not in answer:
                    _allow(answer, origin)
                else:
                    answer.add_vary_header("Origin")
            await send(message)

        await self.app(scope, receive, send_with_cors)

    async def _origins_of_keys(self, scope: Scope) -> frozenset[str]:
        service: Service = scope["app"].state.service
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                self._of_keys = await service.keys.origins()
        except (BookError, TimeoutError) as problem:
            # Those known last, so that their pages can at least read what is wrong.
            why = str(problem) or "the database takes too long"
            logger.warning("The sites of publishable keys can't be read: %s", why)
        return self._of_keys


def _allow(headers: MutableHeaders, origin: str) -> None:
    headers["Access-Control-Allow-Origin"] = origin
    headers["Access-Control-Expose-Headers"] = EXPOSED
    headers.add_vary_header("Origin")
