"""Who is calling, from where, and which books are theirs."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from fastapi import Request

from bythebook.errors import BookNotFound
from bythebook.ingestion.known_books import requested_book
from bythebook.keys import ApiKey
from bythebook.library import Library
from bythebook.models.chunk import BookInfo

# Who has one address of IPv6 has a whole network of this many bits.
NETWORK_BITS = 64


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

    async def book(self, library: Library, book_id: str | None) -> BookInfo:
        """A book by its id, or the one this caller must mean; others' books do not exist."""
        if book_id is None:
            recent = await library.recent_books()
            own = [book for book in recent if self.may_read(book.book_id)]
            return requested_book(own, library.settings.book_id)
        if not self.may_read(book_id):
            raise unknown_book(book_id)
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
