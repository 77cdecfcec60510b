"""Whether a request may do what it asks for: its key, and how often the key was used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader, HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from bythebook.errors import KeyRefused, NotAllowed
from bythebook.models.key import Scope
from bythebook.server.caller import Caller
from bythebook.server.service import Service, service_of

HOW_TO_SEND = "Send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`."

bearer = HTTPBearer(auto_error=False, description="A key made with `bythebook keys create`.")
header = APIKeyHeader(name="X-API-Key", auto_error=False, description="The same key.")


def needs(scope: Scope) -> Callable[..., Awaitable[Caller]]:
    """A dependency: the caller, once the key is known to be good for this and not used up."""

    async def caller(
        request: Request,
        service: Annotated[Service, Depends(service_of)],
        token: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None,
        plain: Annotated[str | None, Depends(header)] = None,
    ) -> Caller:
        presented = token.credentials if token else plain
        if presented is None and "authorization" in request.headers:
            raise KeyRefused("The header Authorization holds no key.", action=HOW_TO_SEND)
        if presented is None:
            if await service.keys.exist():
                raise KeyRefused("This service needs a key.", action=HOW_TO_SEND)
            if not _is_from_here(request):
                raise NotAllowed(
                    "Without keys only this machine may ask.",
                    action="Make one with `bythebook keys create NAME`.",
                )
            return Caller(None)
        key = await service.keys.verify(presented)
        request.state.key_id = key.key_id
        request.state.rate = rate = await service.rate.hit(key.key_id)
        if not rate.allowed:
            service.metrics.rate_limited()
            raise rate.error()
        if not key.allows(scope):
            raise NotAllowed(
                f"The key {key.name!r} may not do this: it has no scope {scope!r}.",
                action=f"Use a key made with `bythebook keys create NAME --scope {scope}`.",
                details={"scope": scope},
            )
        return Caller(key)

    return caller


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_from_here(request: Request) -> bool:
    """Sent by this machine, and to it: a web page may point a name of its own at 127.0.0.1."""
    sender = request.client.host if request.client else ""
    return is_loopback(sender) and is_loopback(request.url.hostname or "")


Reader = Annotated[Caller, Security(needs("read"), scopes=["read"])]
Chatter = Annotated[Caller, Security(needs("chat"), scopes=["chat"])]
Admin = Annotated[Caller, Security(needs("admin"), scopes=["admin"])]
Serving = Annotated[Service, Depends(service_of)]
