"""Authentication and rate limits: the key of a request, checked before its body is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, cast

from fastapi import Depends, Request, Security
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from bythebook.errors import BookError, KeyRefused, NotAllowed, TooManyRequests
from bythebook.keys import ApiKey, Scope
from bythebook.server.body import has_body
from bythebook.server.caller import (
    Caller,
    address_of,
    is_from_page_of,
    is_listed,
    is_own_address,
    listed_origins,
)
from bythebook.server.error_responses import answer_problem, is_for_completions, log_problem
from bythebook.server.rate import Rate
from bythebook.server.service import Service, service_of
from bythebook.settings import Settings

HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::\d{1,5})?", re.ASCII)
HOW_TO_SEND = "Send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`."

bearer = HTTPBearer(auto_error=False, description="A key made with `bythebook keys create`.")
header = APIKeyHeader(name="X-API-Key", auto_error=False, description="The same key.")


@dataclass(frozen=True)
class RequireScope:
    """A dependency: the caller, once the key is checked and counted. Any of the scopes will do."""

    scopes: tuple[Scope, ...]

    async def __call__(
        self,
        request: Request,
        service: Annotated[Service, Depends(service_of)],
        # Read by `admit`; named here for the OpenAPI document.
        _token: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None,
        _plain: Annotated[str | None, Depends(header)] = None,
    ) -> Caller:
        scopes, admitted = getattr(request.state, "admitted", (None, None))
        if admitted is not None and scopes == self.scopes:
            return cast("Caller", admitted)
        return await admit(request, service, self.scopes)


async def admit(request: Request, service: Service, scopes: tuple[Scope, ...]) -> Caller:
    """Check and count the key of a request, or check that none is needed."""
    token, plain = await bearer(request), await header(request)
    presented = token.credentials if token else plain
    if is_for_completions(request.url.path) and not await service.keys.exist():
        # These clients always send a key, and make one up where none is needed.
        _check_is_from_here(request, service.settings)
        return Caller(None)
    if presented is None and "authorization" in request.headers:
        raise KeyRefused("The header Authorization contains no key.", action=HOW_TO_SEND)
    if presented is None:
        if await service.keys.exist():
            raise KeyRefused("This service needs a key.", action=HOW_TO_SEND)
        _check_is_from_here(request, service.settings)
        return Caller(None)
    try:
        key = await _verify(presented, address_of(request), service)
        request.state.key_id = key.key_id
        await _count(request, service, key)
    except TooManyRequests:
        service.metrics.rate_limited.inc()
        raise
    if key.origins is not None and not is_from_page_of(request.headers, key.origins):
        raise NotAllowed(
            f"The key {key.name!r} is for the pages of certain sites, and this request is from "
            "none of them.",
            action="Make a key for this site with `bythebook keys create NAME --publishable "
            "--origin SITE`, or a secret one for programs.",
            details={"origin": request.headers.get("origin")},
        )
    if not any(key.allows(scope) for scope in scopes):
        named = " or ".join(repr(scope) for scope in scopes)
        raise NotAllowed(
            f"The key {key.name!r} may not do this: it has no scope {named}.",
            action=f"Use a key made with `bythebook keys create NAME --scope {scopes[0]}`.",
            details={"scope": scopes[0]},
        )
    return Caller(key)


async def _verify(presented: str, address: str, service: Service) -> ApiKey:
    """An address may present so many wrong keys in a minute; further ones are told to wait. A right
    key is never slowed: readers behind the address of an attacker, or behind a proxy, read on. That
    tells an attacker nothing, since a key is too long to be found by trying."""
    try:
        # Found by its hash: how long that takes tells nothing of a key.
        return await service.keys.verify(presented)
    except KeyRefused:
        rate = await service.rate.hit_guess(address)
        if rate.allowed:
            raise
    raise TooManyRequests(
        "Too many wrong keys came from this address.",
        action=f"Try again in {rate.retry_after} s, with the right key.",
        details={"retry_after": rate.retry_after},
    )


async def _count(request: Request, service: Service, key: ApiKey) -> None:
    """The reader's own limit first: what it refuses does not count for the key."""
    if key.is_publishable and is_own_address(request, service.settings.trusted_proxies):
        request.state.rate = share = await service.rate.hit_share(key.key_id, address_of(request))
        if not share.allowed:
            raise share.error()
    rate = await service.rate.hit(key.key_id)
    known: Rate | None = getattr(request.state, "rate", None)
    if not rate.allowed or known is None or not known.limit or rate.remaining < known.remaining:
        request.state.rate = rate
    if not rate.allowed:
        raise rate.error()


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _host_of(request: Request) -> str:
    """From the header `Host`. `request.url` would take the service's own address in place of one
    that it can't read, and the first of several."""
    hosts = request.headers.getlist("host")
    found = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    return found["name"].strip("[]").lower() if found else ""


def _check_is_from_here(request: Request, settings: Settings) -> None:
    """Sent by this machine, and to it: a web page may point a name of its own at 127.0.0.1, and
    one that does not can still send requests."""
    sender = request.client.host if request.client else ""
    if not is_loopback(sender) or not is_loopback(_host_of(request)):
        raise NotAllowed(
            "Without keys, the service answers only this machine.",
            action="Create one with `bythebook keys create NAME`.",
        )
    origin = request.headers.get("origin")
    own = f"{request.url.scheme}://{request.url.netloc}"
    if origin is not None and origin != own and not is_listed(origin, listed_origins(settings)):
        raise NotAllowed(
            "Without keys, the service answers only its own page, not other sites.",
            action="Add the site to BYTHEBOOK_CORS_ORIGINS, or create a publishable key for it.",
            details={"origin": origin},
        )
    # A picture or a script of another page is fetched without an Origin; browsers tell so here.
    if origin is None and request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        raise NotAllowed(
            "Without keys, the service answers only its own page, not other sites.",
            action="Open the address directly, or create a key.",
        )


Searcher = Annotated[Caller, Security(RequireScope(("read",)), scopes=["read"])]
Guest = Annotated[Caller, Security(RequireScope(("read", "chat")), scopes=["read", "chat"])]
Chatter = Annotated[Caller, Security(RequireScope(("chat",)), scopes=["chat"])]
Admin = Annotated[Caller, Security(RequireScope(("admin",)), scopes=["admin"])]
Serving = Annotated[Service, Depends(service_of)]


class KeyMiddleware:
    """Checks the key before the body is read; FastAPI asks a route's dependencies after it."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self.app = app
        self._routes = [
            (route, required.scopes)
            for route in routes
            if isinstance(route, APIRoute)
            for required in _requirements(route.dependant)
        ]

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        scopes = self._scopes(scope) if has_body(scope) else None
        if scopes is not None:
            request = Request(scope)
            try:
                caller = await admit(request, scope["app"].state.service, scopes)
                request.state.admitted = scopes, caller
            except BookError as problem:
                log_problem(problem)
                await answer_problem(problem, scope)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _scopes(self, scope: AsgiScope) -> tuple[Scope, ...] | None:
        for route, scopes in self._routes:
            if route.matches(scope)[0] is Match.FULL:
                return scopes
        return None


def _requirements(dependant: Dependant) -> Iterator[RequireScope]:
    if isinstance(dependant.call, RequireScope):
        yield dependant.call
    for inner in dependant.dependencies:
        yield from _requirements(inner)
