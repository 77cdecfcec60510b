"""Which machines may be asked, and connections that can reach no others."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import httpcore
import httpx

from bythebook.errors import ConfigurationError, SourceError

Address = IPv4Address | IPv6Address

SPECIAL_4 = tuple(
    map(
        ip_network,
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "
        "192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 "
        "192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 "
        "240.0.0.0/4".split(),
    )
)
# Everything else in IPv6 is for one machine, one network, or nobody yet.
UNICAST_6 = ip_network("2000::/3")
SPECIAL_6 = tuple(
    map(
        ip_network,
        "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3ffe::/16 3fff::/20".split(),
    )
)
# The two ways to write an IPv4 address that lead to it: mapped, and by a network's translator.
WRITTEN_AS_6 = (ip_network("::ffff:0:0/96"), ip_network("64:ff9b::/96"))


def is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        if address not in UNICAST_6:
            return False
        listed = any(address in network for network in SPECIAL_6)
    else:
        listed = any(address in network for network in SPECIAL_4)
    return not listed and address.is_global and not address.is_multicast


def unmapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 one is another way to write."""
    if any(address in network for network in WRITTEN_AS_6):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


# A port stands behind an IPv4 address, or behind brackets.
ENTRY = re.compile(
    r"(?:\[(?P<six>[^\]]+)\]|(?P<four>[0-9./]+))(?::(?P<port>\d{1,5}))?|(?P<bare>[0-9a-fA-F:./]+)"
)


class Unreachable(SourceError):
    """There was no answer, or none in time."""


@dataclass(frozen=True)
class Allowed:
    """A network, and the port if only one of it is meant."""

    network: IPv4Network | IPv6Network
    port: int | None


@dataclass(frozen=True)
class Guard:
    """Public addresses, and the private ones that the operator allows."""

    allowed: tuple[Allowed, ...] = ()

    @classmethod
    def from_setting(cls, text: str) -> Guard:
        """`10.1.0.0/16, 127.0.0.1:8080, [::1]:80`"""
        return cls(tuple(_allowed(part.strip()) for part in text.split(",") if part.strip()))

    def permits(self, address: Address, port: int) -> bool:
        real = unmapped(address)
        if is_public(real):
            return True
        return any(
            each.port in (None, port) and (real in each.network or address in each.network)
            for each in self.allowed
        )

    async def resolve(self, host: str, port: int) -> list[str]:
        """Addresses of the host that may be asked. Who connects must use these and not look the
        name up again, since the next answer may be another."""
        name = host.strip("[]")
        try:
            found = await asyncio.get_running_loop().getaddrinfo(
                name, port, type=socket.SOCK_STREAM
            )
        except (OSError, UnicodeError) as problem:
            raise Unreachable(
                f"The host {name} is not known on this machine.",
                action="Check the address and the network.",
            ) from problem
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        permitted = [text for text in addresses if self.permits(_parsed(text), port)]
        if not permitted:
            first = addresses[0]
            where = "" if name == first else f" is at {first}, which"
            shown = f"[{first}]" if ":" in first else first
            raise SourceError(
                f"{name}{where} is not a public address.",
                action=f"Allow it with BYTHEBOOK_FETCH_PRIVATE={shown}:{port} if it is meant.",
            )
        return permitted


def _parsed(text: str) -> Address:
    return ip_address(text.partition("%")[0])


def _allowed(text: str) -> Allowed:
    found = ENTRY.fullmatch(text)
    try:
        if found is None:
            raise ValueError(text)
        network = ip_network(found["six"] or found["four"] or found["bare"], strict=False)
        return Allowed(network, int(found["port"]) if found["port"] else None)
    except ValueError as problem:
        raise ConfigurationError(
            f"BYTHEBOOK_FETCH_PRIVATE holds {text!r}, which is not an address.",
            action="Give addresses or networks: 10.1.0.0/16, 127.0.0.1:8080, [::1]:80.",
        ) from problem


class _GuardedBackend(httpcore.AnyIOBackend):
    """Looks a name up once, and connects to what was looked at."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the name is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        problem: Exception | None = None
        for address in await self.guard.resolve(host, port):
            try:
                return await super().connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failed:
                problem = failed
        assert problem
        raise problem


class GuardedTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 over guarded connections; proxies of the environment are not used, because they
    would do the looking up."""

    def __init__(self, guard: Guard) -> None:
        self.pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=4,
            network_backend=_GuardedBackend(guard),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        answer = await self.pool.handle_async_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        await self.pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self.answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self.answer.aiter_stream():
            yield part

    async def aclose(self) -> None:
        await self.answer.aclose()
