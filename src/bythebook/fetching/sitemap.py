"""sitemap.xml: the pages of a site as the site itself lists them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from bythebook.errors import SourceError
from bythebook.reading.readers.tokens import decoded, tokens

MAX_BYTES = 20_000_000
MAX_SITEMAPS = 100
GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Sitemap:
    """Addresses of pages, and of further sitemaps."""

    pages: tuple[str, ...]
    sitemaps: tuple[str, ...]


def is_sitemap(body: bytes) -> bool:
    start = body[:2000].lstrip().lower()
    return body.startswith(GZIP) or b"<urlset" in start or b"<sitemapindex" in start


def read_sitemap(url: str, body: bytes, limit: int) -> Sitemap:
    """At most so many addresses; text sitemaps are one address a line."""
    if body.startswith(GZIP):
        body = _unpacked(url, body)
    if b"<" not in body[:2000]:
        lines = body.decode("utf-8-sig", "replace").split()
        return Sitemap(tuple(line for line in lines[:limit] if "://" in line), ())
    pages: list[str] = []
    sitemaps: list[str] = []
    inside = ""
    address: list[str] | None = None
    for token in tokens(decoded(body), xml=True):
        if token.kind == "open" and token.name in ("url", "sitemap"):
            inside = token.name
        elif token.kind == "open" and token.name == "loc":
            address = []
        elif token.kind == "close" and token.name == "loc" and address is not None:
            wanted = pages if inside == "url" else sitemaps if inside == "sitemap" else []
            wanted.append("".join(address).strip())
            address = None
        elif token.kind == "close" and token.name in ("url", "sitemap"):
            inside = ""
        elif token.kind == "text" and address is not None:
            address.append(token.raw)
        if len(pages) >= limit:
            break
    return Sitemap(tuple(pages), tuple(sitemaps[:MAX_SITEMAPS]))


def _unpacked(url: str, body: bytes) -> bytes:
    unpack = zlib.decompressobj(wbits=31)
    try:
        made = unpack.decompress(body, MAX_BYTES + 1)
    except zlib.error as problem:
        raise SourceError(f"{url} is damaged: {problem}.", action="Try later.") from problem
    if len(made) > MAX_BYTES:
        raise SourceError(
            f"{url} unpacks to more than {MAX_BYTES // 1_000_000} MB.",
            action="Give the start page instead.",
        )
    return made
