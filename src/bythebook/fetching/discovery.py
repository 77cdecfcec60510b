"""Which pages a site has: robots.txt, sitemaps, links, and the first requests to it."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bythebook.errors import SourceError
from bythebook.fetching.address import Scope, key_of, normalise, origin_of
from bythebook.fetching.record import FetchedPage, Mirror, SiteRecord
from bythebook.fetching.web import Web, WebResponse
from bythebook.reading.readers.markdown_writer import language_code
from bythebook.reading.readers.markup_tokens import decoded, language_of, title_of, tokens

if TYPE_CHECKING:
    from protego import Protego


NAME = "bythebook"
MAX_ROBOTS_BYTES = 500_000
LONGEST_DELAY = 60.0


@dataclass(frozen=True)
class Robots:
    """The rules for this program, its pause between requests, and the sitemaps of the site."""

    rules: Protego | None = None
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        return self.rules is None or self.rules.can_fetch(url, NAME)


def read_robots(data: bytes, base: str) -> Robots:
    """Rules for this program by its name, else those for everybody."""
    from protego import Protego

    rules = Protego.parse(data[:MAX_ROBOTS_BYTES].decode("utf-8-sig", "replace"))
    sitemaps = (normalise(url, base) for url in rules.sitemaps)
    return Robots(
        rules=rules,
        delay=min(rules.crawl_delay(NAME) or 0.0, LONGEST_DELAY),
        sitemaps=tuple(dict.fromkeys(url for url in sitemaps if url)),
    )


MAX_SITEMAP_BYTES = 20_000_000
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
        made = unpack.decompress(body, MAX_SITEMAP_BYTES + 1)
    except zlib.error as problem:
        raise SourceError(f"{url} is damaged: {problem}.", action="Try later.") from problem
    if len(made) > MAX_SITEMAP_BYTES:
        raise SourceError(
            f"{url} unpacks to more than {MAX_SITEMAP_BYTES // 1_000_000} MB.",
            action="Give the start page instead.",
        )
    return made


MAX_LINKS = 5_000
NAMING = frozenset({"a", "area", "base", "frame", "link", "meta"})
# Pages that only send the reader on to another one.
REFRESH = re.compile(r"\d*\s*[;,]\s*url\s*=\s*['\"]?([^'\"]+)", re.IGNORECASE)


@dataclass(frozen=True)
class PageLinks:
    """Links as they stand there, relative to `base` if it has one."""

    links: tuple[str, ...] = ()
    base: str = ""
    canonical: str = ""
    title: str = ""
    site: str = ""
    language: str | None = None
    noindex: bool = False
    nofollow: bool = False


def read_links(body: bytes) -> PageLinks:
    found = list(tokens(decoded(body)))
    links: dict[str, None] = {}
    base = canonical = site = ""
    rules: set[str] = set()
    for token in found:
        if token.kind != "open" or token.name not in NAMING:
            continue
        attributes = token.attributes()
        address = attributes.get("src" if token.name == "frame" else "href", "").strip()
        if token.name == "meta" and attributes.get("http-equiv", "").lower() == "refresh":
            sent = REFRESH.match(attributes.get("content", "").strip())
            links |= {sent[1].strip(): None} if sent else {}
        if token.name == "base":
            base = base or address
        elif token.name == "link":
            if "canonical" in attributes.get("rel", "").lower().split():
                canonical = canonical or address
        elif token.name == "meta":
            if attributes.get("property") == "og:site_name":
                site = attributes.get("content", "").strip()
            if attributes.get("name", "").lower() in ("robots", NAME):
                rules |= set(attributes.get("content", "").lower().replace(",", " ").split())
        elif address and not address.startswith("#") and len(links) < MAX_LINKS:
            links[address] = None
    return PageLinks(
        links=tuple(links),
        base=base,
        canonical=canonical,
        title=title_of(found),
        site=" ".join(site.split()),
        language=language_code(language_of(found)),
        noindex=bool(rules & {"noindex", "none"}),
        nofollow=bool(rules & {"nofollow", "none"}),
    )


STAYS = "What is in the index stays as it is; try again later."


@dataclass(frozen=True)
class SiteStart:
    """`first` is the answer for the start page, None if the start is a sitemap; `listed` are the
    pages of sitemaps, empty if links must be followed."""

    scope: Scope
    robots: Robots
    first: WebResponse | None
    listed: tuple[str, ...]


async def open_site(
    web: Web, start: str, known: SiteRecord, mirror: Mirror, max_bytes: int, most: int
) -> SiteStart:
    robots = await _robots(web, start)
    _check(robots, start)
    page = known.pages.get(key_of(start))
    tags = validators_of(page, mirror)
    first = await web.get(start, max_bytes, etag=tags[0], last_modified=tags[1])
    if first.status not in (200, 304):
        raise SourceError(f"{first.url} answered {first.status}.", action=STAYS)
    if origin_of(first.url) != origin_of(start):
        robots = await _robots(web, first.url)
        _check(robots, first.url)
    web.delay = max(web.delay, robots.delay)
    scope = Scope.around(first.url)
    if is_sitemap(first.body):
        listed = await _listed(web, [first.url], scope, most, {first.url: first.body})
        if not listed:
            raise SourceError(
                f"{first.url} lists no page below {scope.origin}{scope.folder}.",
                action="Give the address where the pages are.",
            )
        return SiteStart(scope, robots, None, listed)
    maps = [url for url in robots.sitemaps if origin_of(url) == scope.origin]
    maps = maps or list(
        dict.fromkeys((f"{scope.origin}{scope.folder}sitemap.xml", f"{scope.origin}/sitemap.xml"))
    )
    listed = await _listed(web, [url for url in maps if robots.allows(url)], scope, most)
    others = [url for url in listed if key_of(url) != key_of(first.url)]
    return SiteStart(scope, robots, first, tuple(listed) if others else ())


def validators_of(page: FetchedPage | None, mirror: Mirror) -> tuple[str, str]:
    """With these a server need not send again what is here."""
    if page is None or mirror.read_page(page) is None:
        return "", ""
    return page.etag, page.last_modified


async def _robots(web: Web, url: str) -> Robots:
    """No robots.txt allows everything; one that can't be got allows nothing."""
    address = f"{origin_of(url)}/robots.txt"
    answer = await web.get(address, MAX_SITEMAP_BYTES)
    if answer.status == 200:
        return read_robots(answer.body, address)
    if 400 <= answer.status < 500 and answer.status != 429:
        return Robots()
    raise SourceError(
        f"{address} answered {answer.status}, so it is unknown what may be fetched.",
        action=STAYS,
    )


def _check(robots: Robots, url: str) -> None:
    if not robots.allows(url):
        raise SourceError(
            f"The robots.txt of the site does not allow programs to read {url}.",
            action="Ask whoever runs the site, or get the book in another way.",
        )


async def _listed(
    web: Web,
    waiting: Iterable[str],
    scope: Scope,
    most: int,
    got: dict[str, bytes] | None = None,
) -> tuple[str, ...]:
    """Pages of the sitemaps that can be read; a site without any is nothing unusual."""
    bodies = dict(got or {})
    queue = list(waiting)
    seen = set(queue)
    pages: dict[str, str] = {}
    same = Scope(scope.origin, "/")
    while queue and len(seen) <= MAX_SITEMAPS and len(pages) < most:
        url = queue.pop(0)
        try:
            if url not in bodies:
                answer = await web.get(url, MAX_SITEMAP_BYTES, allowed=same.holds)
                bodies[url] = answer.body if answer.status == 200 else b""
            body = bodies.pop(url)
            found = await asyncio.to_thread(read_sitemap, url, body, 10 * most)
        except SourceError:
            if got:
                raise
            continue
        for taken in await asyncio.to_thread(scope.take_all, found.pages, url):
            pages.setdefault(key_of(taken), taken)
        for below in found.sitemaps:
            further = same.take(below, url)
            if further and further not in seen:
                seen.add(further)
                queue.append(further)
    return tuple(pages.values())[:most]
