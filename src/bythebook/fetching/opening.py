"""The first requests to a site: what it allows, where it begins, which pages it lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from bythebook.errors import SourceError
from bythebook.fetching.record import Mirror, Page, Record
from bythebook.fetching.robots import MAX_BYTES, Robots, read_robots
from bythebook.fetching.sitemap import MAX_BYTES as SITEMAP_BYTES
from bythebook.fetching.sitemap import MAX_SITEMAPS, is_sitemap, read_sitemap
from bythebook.fetching.urls import Scope, key_of
from bythebook.fetching.web import Answer, Web

STAYS = "What is in the index stays as it is; try again later."


@dataclass(frozen=True)
class Opening:
    """`first` is the answer for the start page, None if the start is a sitemap; `listed` are the
    pages of sitemaps, empty if links must be followed."""

    scope: Scope
    robots: Robots
    first: Answer | None
    listed: tuple[str, ...]


async def open_site(
    web: Web, start: str, known: Record, mirror: Mirror, max_bytes: int, most: int
) -> Opening:
    robots = await _robots(web, start)
    _check(robots, start)
    page = known.pages.get(key_of(start))
    tags = tags_of(page, mirror)
    first = await web.get(start, max_bytes, etag=tags[0], last_modified=tags[1])
    if first.status not in (200, 304):
        raise SourceError(f"{first.url} answered {first.status}.", action=STAYS)
    if _origin(first.url) != _origin(start):
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
        return Opening(scope, robots, None, listed)
    maps = [url for url in robots.sitemaps if _origin(url) == scope.origin]
    maps = maps or list(
        dict.fromkeys((f"{scope.origin}{scope.folder}sitemap.xml", f"{scope.origin}/sitemap.xml"))
    )
    listed = await _listed(web, [url for url in maps if robots.allows(url)], scope, most)
    others = [url for url in listed if key_of(url) != key_of(first.url)]
    return Opening(scope, robots, first, tuple(listed) if others else ())


def tags_of(page: Page | None, mirror: Mirror) -> tuple[str, str]:
    """With these a server need not send again what is here."""
    if page is None or mirror.read_page(page) is None:
        return "", ""
    return page.etag, page.last_modified


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


async def _robots(web: Web, url: str) -> Robots:
    """No robots.txt allows everything; one that can't be got allows nothing."""
    address = f"{_origin(url)}/robots.txt"
    answer = await web.get(address, MAX_BYTES)
    if answer.status == 200:
        return read_robots(answer.body, address)
    if 400 <= answer.status < 500 and answer.status != 429:
        return Robots()
    raise SourceError(
        f"{address} answered {answer.status}, so it is not known what may be fetched.",
        action=STAYS,
    )


def _check(robots: Robots, url: str) -> None:
    if not robots.allows(url):
        raise SourceError(
            f"The robots.txt of the site does not let programs read {url}.",
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
                answer = await web.get(url, SITEMAP_BYTES, may=same.holds)
                bodies[url] = answer.body if answer.status == 200 else b""
            found = read_sitemap(url, bodies.pop(url), 10 * most)
        except SourceError:
            if got:
                raise
            continue
        for page in found.pages:
            if taken := scope.take(page, url):
                pages.setdefault(key_of(taken), taken)
        for below in found.sitemaps:
            taken = same.take(below, url)
            if taken and taken not in seen:
                seen.add(taken)
                queue.append(taken)
    return tuple(pages.values())[:most]
