"""Whether a request may do what it asks for: its key, and how often the key was used."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, cast

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader, HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from bythebook.errors import KeyRefused, NotAllowed, TooManyRequests
from bythebook.models.key import ApiKey, Scope
from bythebook.server.caller import Caller
from bythebook.server.completions.problem import is_for_completions
from bythebook.server.origins import is_from_page_of, is_listed, listed_origins
from bythebook.server.rate import Rate
from bythebook.server.sender import address_of, is_told_apart
from bythebook.server.service import Service, service_of
from bythebook.settings import Settings

HOW_TO_SEND = "Send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`."

bearer = HTTPBearer(auto_error=False, description="A key made with `bythebook keys create`.")
header = APIKeyHeader(name="X-API-Key", auto_error=False, description="The same key.")


@dataclass(frozen=True)
class Needs:
    """A dependency: the caller, once the key is known to be good for this and not used up. Any of
    the scopes will do."""

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
    """Raises what is wrong with the key, or with who has none."""
    token, plain = await bearer(request), await header(request)
    presented = token.credentials if token else plain
    if is_for_completions(request.url.path) and not await service.keys.exist():
        # These clients send a key always, and a made-up one where none is needed.
        _check_is_from_here(request, service.settings)
        return Caller(None)
    if presented is None and "authorization" in request.headers:
        raise KeyRefused("The header Authorization holds no key.", action=HOW_TO_SEND)
    if presented is None:
        if await service.keys.exist():
            raise KeyRefused("This service needs a key.", action=HOW_TO_SEND)
        _check_is_from_here(request, service.settings)
        return Caller(None)
    try:
        key = await service.guesses.verify(presented, address_of(request))
        request.state.key_id = key.key_id
        await _count(request, service, key)
    except TooManyRequests:
        service.metrics.rate_limited()
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


async def _count(request: Request, service: Service, key: ApiKey) -> None:
    """A reader's own share first: what is refused there does not count for the others."""
    if key.is_publishable and is_told_apart(request, service.settings.trusted_proxies):
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


def _check_is_from_here(request: Request, settings: Settings) -> None:
    """Sent by this machine, and to it: a web page may point a name of its own at 127.0.0.1, and
    one that does not can still send requests."""
    sender = request.client.host if request.client else ""
    if not is_loopback(sender) or not is_loopback(request.url.hostname or ""):
        raise NotAllowed(
            "Without keys only this machine may ask.",
            action="Make one with `bythebook keys create NAME`.",
        )
    origin = request.headers.get("origin")
    own = f"{request.url.scheme}://{request.url.netloc}"
    if origin is not None and origin != own and not is_listed(origin, listed_origins(settings)):
        raise NotAllowed(
            "Without keys only the service's own page may ask, not one of another site.",
            action="Name the site in BYTHEBOOK_CORS_ORIGINS, or make a publishable key for it.",
            details={"origin": origin},
        )
    # A picture or a script of another page is fetched without an Origin; browsers tell so here.
    if origin is None and request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        raise NotAllowed(
            "Without keys only the service's own page may ask, not one of another site.",
            action="Open the address by itself, or make a key.",
        )


Reader = Annotated[Caller, Security(Needs(("read",)), scopes=["read"])]
Guest = Annotated[Caller, Security(Needs(("read", "chat")), scopes=["read", "chat"])]
Chatter = Annotated[Caller, Security(Needs(("chat",)), scopes=["chat"])]
Admin = Annotated[Caller, Security(Needs(("admin",)), scopes=["admin"])]
Serving = Annotated[Service, Depends(service_of)]
