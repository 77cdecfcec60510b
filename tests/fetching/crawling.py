"""Crawling a local site without an index."""

from __future__ import annotations

from pathlib import Path

from bythebook.fetching.address import Site as SiteAddress
from bythebook.fetching.address import find_address
from bythebook.fetching.crawl import CrawlReport
from bythebook.fetching.fetch import fetch, kept_book
from bythebook.reading.layout import Book
from bythebook.settings import Settings
from fetching.site import Site


def crawl_settings(site: Site, home: Path, **others: object) -> Settings:
    """The site may be fetched, at once and nothing else; other settings by name."""
    values: dict[str, object] = {"fetch_delay": 0.0, "fetch_private": site.private, **others}
    return Settings(home=home, **values)  # type: ignore[arg-type]


async def crawl(site: Site, home: Path, start: str = "/docs/", **others: object) -> Book:
    """The book that a crawl of the site makes."""
    address = find_address(site.url + start)
    assert isinstance(address, SiteAddress)
    settings = crawl_settings(site, home, **others)
    fetched: CrawlReport = await fetch(address, settings)
    return kept_book(address, home, None, fetched)


def paths(book: Book, site: Site) -> list[str]:
    """Addresses of the book's pages in reading order, without the host."""
    return [book.addresses[file].removeprefix(site.url) for file in book.nav]
