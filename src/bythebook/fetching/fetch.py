"""Books from elsewhere: fetched, found where they are kept, with a record of what was fetched."""

from __future__ import annotations

import shutil
from pathlib import Path

from bythebook.errors import BookNotFound
from bythebook.fetching.address import Address, Repository, Site
from bythebook.fetching.crawl import Crawl, CrawlLimits, CrawlReport, OnFetch
from bythebook.fetching.git import book_folder, fetch_repository
from bythebook.fetching.guard import Guard
from bythebook.fetching.record import Mirror, SiteRecord
from bythebook.fetching.web import Web
from bythebook.models.values import check_book_id
from bythebook.reading.layout import Book, find_book
from bythebook.reading.metadata import read_manifest
from bythebook.settings import Settings

SOURCES = "sources"


async def fetch(
    address: Address, settings: Settings, on_fetch: OnFetch = lambda _report: None
) -> CrawlReport:
    """Bring what is kept of a site or repository up to date."""
    guard = Guard.from_setting(settings.fetch_private)
    folder = _folder(address, settings.home)
    seconds = settings.fetch_minutes * 60
    if isinstance(address, Repository):
        await fetch_repository(address, folder, guard, seconds, settings.disk_reserve)
        return CrawlReport()
    limits = CrawlLimits(
        pages=settings.fetch_pages,
        depth=settings.fetch_depth,
        seconds=seconds,
        page_bytes=settings.max_file_mb * 1_000_000,
    )
    async with Web(guard, settings.fetch_page_seconds, settings.fetch_delay) as web:
        mirror = Mirror(folder, settings.disk_reserve)
        return await Crawl(web, mirror, limits, address.url, on_fetch).run()


def kept_book(
    address: Address, home: Path, book_id: str | None, report: CrawlReport | None = None
) -> Book:
    """The book as it was fetched last; the report is of a fetch just now."""
    folder = _folder(address, home)
    if isinstance(address, Repository):
        if not folder.is_dir():
            raise _not_fetched(address)
        place = book_folder(address, folder)
        named = read_manifest(place).book.id if place.is_dir() else None
        return find_book(place, book_id or named or address.book_id)
    record = Mirror(folder).load()
    if record is None:
        raise _not_fetched(address)
    return _site_book(address, folder, record, book_id, report or CrawlReport())


def _site_book(
    address: Site, folder: Path, record: SiteRecord, book_id: str | None, report: CrawlReport
) -> Book:
    pages = record.shown()
    return Book(
        book_id=check_book_id(book_id or address.book_id),
        title=record.title,
        root=Mirror(folder).pages,
        top=Mirror(folder).pages,
        flavor="plain",
        base_url=address.url,
        language=record.language,
        files=tuple(sorted(page.file for page in pages)),
        nav=tuple(page.file for page in pages),
        problems=tuple(report.problems),
        addresses={page.file: page.url for page in pages},
        removed=None if record.whole else frozenset(report.gone),
    )


def _not_fetched(address: Address) -> BookNotFound:
    return BookNotFound(
        f"Nothing of {address.text} has been fetched yet.", action="Ingest it first."
    )


def forget(address: Address, home: Path) -> None:
    """Remove what is kept of a site or repository."""
    shutil.rmtree(home / SOURCES / address.key, ignore_errors=True)


def _folder(address: Address, home: Path) -> Path:
    """A checkout is called as its repository is, since a book may be called after its folder."""
    folder = home / SOURCES / address.key
    return folder / address.name if isinstance(address, Repository) else folder
