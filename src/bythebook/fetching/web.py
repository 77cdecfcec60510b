"""Asking a web server: one request at a time, and never more than was agreed to take."""

from __future__ import annotations

import asyncio
import codecs
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

import httpcore
import httpx

from bythebook import __version__
from bythebook.errors import SourceError
from bythebook.fetching.address import normalise
from bythebook.fetching.guard import Guard, GuardedTransport, Unreachable
from bythebook.models.values import retry_after
from bythebook.reading.readers.markup_tokens import text_encoding

MAX_REDIRECTS = 5
MOVED = frozenset({301, 302, 303, 307, 308})
MOVED_PERMANENTLY = frozenset({301, 308})
FAILED = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
    httpcore.TimeoutException,
    httpx.HTTPError,
    httpx.InvalidURL,
)
# A server that asks for more patience than this is asked again at the next ingest.
MAX_RETRY_AFTER = 30.0


@dataclass(frozen=True)
class WebResponse:
    """What a server said in the end. `permanent` says that redirects on the way, if there were any,
    hold from now on."""

    url: str
    status: int
    body: bytes = b""
    etag: str = ""
    last_modified: str = ""
    content_type: str = ""
    charset: str = ""
    redirect: str = ""
    permanent: bool = True
    retry_after: float = 0.0

    @property
    def gone(self) -> bool:
        return self.status in (404, 410)


@dataclass
class Web:
    """A polite client: it says who it is, waits between requests and takes no cookies."""

    guard: Guard
    seconds: float
    delay: float
    _next: float = 0.0
    _client: httpx.AsyncClient = field(init=False)

    def __post_init__(self) -> None:
        self._client = httpx.AsyncClient(
            transport=GuardedTransport(self.guard),
            timeout=self.seconds,
            trust_env=False,
            headers={
                "User-Agent": f"bythebook/{__version__}",
                "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5",
                "Accept-Encoding": "gzip",
            },
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def get(
        self,
        url: str,
        max_bytes: int,
        *,
        allowed: Callable[[str], bool] = lambda _url: True,
        etag: str = "",
        last_modified: str = "",
    ) -> WebResponse:
        """The page behind at most some redirects, each of which is looked at like a new address;
        one to an address that is not for us (`allowed`) is not followed."""
        headers = {"If-None-Match": etag, "If-Modified-Since": last_modified}
        headers = {name: value for name, value in headers.items() if value}
        seen = {url}
        permanent = True
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._once(url, max_bytes, headers)
            if not answer.redirect:
                return replace(answer, permanent=permanent)
            permanent = permanent and answer.permanent
            url = answer.redirect
            if url in seen:
                raise SourceError(f"{url} redirects to itself.", action="Give another address.")
            if not allowed(url):
                return WebResponse(answer.url, answer.status, redirect=url, permanent=permanent)
            seen.add(url)
            headers = {}
        raise SourceError(
            f"{url} comes after {MAX_REDIRECTS} redirects and redirects again.",
            action="Give the address they lead to.",
        )

    async def _once(self, url: str, max_bytes: int, headers: dict[str, str]) -> WebResponse:
        await self._wait()
        try:
            async with (
                asyncio.timeout(self.seconds),
                self._client.stream("GET", url, headers=headers) as response,
            ):
                return await _read(url, response, max_bytes)
        except TimeoutError as problem:
            raise Unreachable(
                f"{url} took longer than {self.seconds:g} s.",
                action="Try again later, or raise BYTHEBOOK_FETCH_PAGE_SECONDS.",
            ) from problem
        except FAILED as problem:
            reason = str(problem).strip().rstrip(".") or type(problem).__name__
            raise Unreachable(
                f"{url} can't be fetched: {reason}.",
                action="Check the address, or try again later.",
            ) from problem

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        pause = self._next - loop.time()
        self._next = max(loop.time(), self._next) + self.delay
        if pause > 0:
            await asyncio.sleep(pause)


async def _read(url: str, response: httpx.Response, max_bytes: int) -> WebResponse:
    status = response.status_code
    headers = response.headers
    if status in MOVED:
        target = normalise(headers.get("location", ""), url)
        if target is None:
            raise SourceError(
                f"{url} redirects to something that is not a web address.",
                action="Give another address.",
            )
        return WebResponse(url, status, redirect=target, permanent=status in MOVED_PERMANENTLY)
    content_type, _, parameters = headers.get("content-type", "").partition(";")
    body = await _body(url, response, max_bytes) if status == 200 else b""
    return WebResponse(
        url=url,
        status=status,
        body=body,
        etag=_tag(headers.get("etag", "")),
        last_modified=_tag(headers.get("last-modified", "")),
        content_type=content_type.strip().lower(),
        charset=_charset(parameters),
        retry_after=retry_after(headers.get("retry-after")) or 0.0,
    )


async def _body(url: str, response: httpx.Response, max_bytes: int) -> bytes:
    """The bytes as they are when unpacked, which stops as soon as they are too many."""
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing not in ("", "identity", "gzip", "x-gzip"):
        raise SourceError(
            f"{url} is compressed as {packing!r}, which was not asked for.",
            action="Ask whoever runs the site.",
        )
    unpack = zlib.decompressobj(wbits=31) if "gzip" in packing else None
    body = bytearray()
    async for part in response.aiter_raw():
        try:
            body += unpack.decompress(part, max_bytes + 1 - len(body)) if unpack else part
        except zlib.error as problem:
            raise SourceError(f"{url} is damaged: {problem}.", action="Try later.") from problem
        if len(body) > max_bytes:
            raise TooLargePage(
                f"{url} has more than the {max_bytes / 1e6:g} MB allowed.",
                action="Raise BYTHEBOOK_MAX_FILE_MB if it is needed.",
            )
    if unpack and not unpack.eof:
        raise SourceError(f"{url} ends too early.", action="Try later.")
    return bytes(body)


class TooLargePage(SourceError):
    """The page is there and is no good; asking again would not help."""


def _tag(value: str) -> str:
    """Only what can be sent back."""
    return value if value.isascii() and value.isprintable() and len(value) <= 500 else ""


def _charset(parameters: str) -> str:
    for part in parameters.split(";"):
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'").lower()
    return ""


def to_utf8(body: bytes, charset: str) -> bytes:
    """The page so that its reader, who can't see the server's headers, reads it in the encoding
    they name; a header that is plainly wrong does not count."""
    if not charset or body.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body
    encoding = text_encoding(charset)
    if encoding is None:
        return body
    try:
        return codecs.BOM_UTF8 + body.decode(encoding).encode("utf-8")
    except (LookupError, ValueError):
        return body
