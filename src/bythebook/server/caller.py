"""Who is calling, from which address or site, and which books are theirs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import Headers

from bythebook.errors import BookNotFound
from bythebook.ingestion.known_books import requested_book
from bythebook.library import Library
from bythebook.models.chunk import BookInfo
from bythebook.models.key import ApiKey
from bythebook.settings import Settings

# Who has one address of IPv6 has a whole network of this many bits.
NETWORK_BITS = 64
ANY = "*"


def address_of(request: Request) -> str:
    """The address to count by; of IPv6 its network."""
    address = _ip_address(request)
    if address is None:
        return request.client.host if request.client else ""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        shift = 128 - NETWORK_BITS
        return f"{IPv6Address(int(address) >> shift << shift)}/{NETWORK_BITS}"
    return str(address)


def is_own_address(request: Request, trusted_proxies: str) -> bool:
    """Whether the address is a reader's own. A private one may be a proxy for all readers, unless
    the proxies are known."""
    if trusted_proxies:
        return True
    address = _ip_address(request)
    return address is not None and address.is_global


def _ip_address(request: Request) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(request.client.host.partition("%")[0] if request.client else "")
    except ValueError:
        return None


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


@dataclass(frozen=True)
class Caller:
    """Who sent a request; without a key it is someone on this machine."""

    key: ApiKey | None

    @property
    def id(self) -> str | None:
        return self.key.key_id if self.key else None

    @property
    def is_admin(self) -> bool:
        return self.key is None or self.key.allows("admin")

    @property
    def is_bound(self) -> bool:
        """Whether only certain books are theirs."""
        return self.key is not None and self.key.books is not None

    def may_read(self, book_id: str) -> bool:
        return self.key is None or self.key.may_read(book_id)

    def check_may_read(self, book_id: str) -> None:
        if not self.may_read(book_id):
            raise unknown_book(book_id)

    def only(self, book_id: str | None) -> tuple[str, ...] | None:
        """This book, or those that the key is for; None where that is all of them."""
        if book_id is None:
            return self.key.books if self.key else None
        self.check_may_read(book_id)
        return (book_id,)

    async def book(self, library: Library, book_id: str | None) -> BookInfo:
        """A book by its id, or the one this caller must mean; others' books do not exist."""
        if book_id is None:
            recent = await library.recent_books()
            own = [book for book in recent if self.may_read(book.book_id)]
            return requested_book(own, library.settings.book_id)
        self.check_may_read(book_id)
        try:
            return await library.recent_book(book_id)
        except BookNotFound as problem:
            raise unknown_book(book_id) from problem

    async def books(self, library: Library) -> list[BookInfo]:
        return [book for book in await library.books() if self.may_read(book.book_id)]


def unknown_book(book_id: str) -> BookNotFound:
    """The same for a book that is not there and one that the key may not see."""
    return BookNotFound(
        f"There is no book {book_id!r}.",
        action="`GET /books` lists the books.",
        details={"field": "book_id"},
    )
