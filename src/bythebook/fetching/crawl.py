"""Bringing the copy of a site up to date, page by page."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bythebook.errors import SourceError
from bythebook.fetching.address import is_endless, key_of, normalise
from bythebook.fetching.discovery import PageLinks, SiteStart, open_site, read_links, validators_of
from bythebook.fetching.guard import Unreachable
from bythebook.fetching.record import FetchedPage, Mirror, SiteRecord, file_name, mark_repeats
from bythebook.fetching.web import MAX_RETRY_AFTER, TooLargePage, Web, WebResponse, to_utf8

HTML = frozenset({"text/html", "application/xhtml+xml"})
# A start address may be a whole book in one file; such files are not looked for in pages, where
# they mostly say the same once more.
DOCUMENTS = {"application/pdf": ".pdf", "application/epub+zip": ".epub", "text/markdown": ".md"}
# Failures one after the other, after which the site is taken to be down.
MAX_FAILURES = 5
# Addresses that differ in their query only; a calendar has one for each day there ever was.
MAX_QUERIES = 50
SAVE_PAGES = 25
SHOWN_PROBLEMS = 20


@dataclass(frozen=True)
class CrawlLimits:
    pages: int
    depth: int
    seconds: float
    page_bytes: int


@dataclass
class CrawlReport:
    """What a crawl did. `gone` are files whose pages the site does not have any more."""

    fetched: int = 0
    unchanged: int = 0
    waiting: int = 0
    gone: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


OnFetch = Callable[[CrawlReport], None]


@dataclass
class Crawl:
    """One run over a site. Only an answer that is meant for good takes a page away: it is gone, it
    has moved, it is not for programs. Whatever else goes wrong leaves it as it was."""

    web: Web
    mirror: Mirror
    limits: CrawlLimits
    start: str
    on_fetch: OnFetch = lambda _report: None

    async def run(self) -> CrawlReport:
        self.report = CrawlReport()
        self.deadline = asyncio.get_running_loop().time() + self.limits.seconds
        kept: SiteRecord | None = await asyncio.to_thread(self.mirror.load)
        self.old = kept or SiteRecord()
        self.record = self.old.model_copy(update={"pages": {}})
        opening = await self._open()
        self.scope, self.robots = opening.scope, opening.robots
        self.follows = not opening.listed
        self.queue: deque[tuple[str, int | None]] = deque()
        self.seen: set[str] = set()
        self.done: set[str] = set()
        self.hashes: dict[str, str] = {}
        self.queries: Counter[str] = Counter()
        self.failures = self.visits = self.blocked = 0
        self.starting = False
        self.too_deep = ""
        self.stopped = ""
        if opening.first is not None:
            await self._start_page(opening.first)
        for url in opening.listed:
            self._add(url, 0)
        await self._work()
        self._recheck()
        await self._work()
        await self._finish()
        return self.report

    async def _open(self) -> SiteStart:
        document = 10 * self.limits.page_bytes  # as reading allows for files with pictures
        opening = await open_site(
            self.web, self.start, self.old, self.mirror, document, self.limits.pages
        )
        first = opening.first
        if first and first.content_type in HTML and len(first.body) > self.limits.page_bytes:
            raise SourceError(
                f"{first.url} has more than the {self.limits.page_bytes / 1e6:g} MB allowed.",
                action="Raise BYTHEBOOK_MAX_FILE_MB if it is needed.",
            )
        return opening

    async def _start_page(self, first: WebResponse) -> None:
        key = key_of(first.url)
        self.seen |= {key, key_of(self.start)}
        self.done |= {key, key_of(self.start)}
        self.visits += 1
        self.starting = True
        page_links = await self._take(key, first, self.old.pages.get(key))
        self.starting = False
        if key not in self.record.pages:
            reason = self.report.problems[-1:] or [f"{first.url} must not be read by programs"]
            raise SourceError(f"{reason[0]}.", action="Give the address of a page.")
        self.record.start = first.url
        if page_links:
            self.record.title = (
                page_links.site or page_links.title or urlsplit(first.url).hostname or ""
            )
            self.record.language = page_links.language or "en"
            await self._add_links(page_links, first.url, 0)

    def _add(self, url: str, depth: int) -> None:
        key = key_of(url)
        path, mark, _ = url.partition("?")
        if key in self.seen or len(self.seen) > 20 * self.limits.pages:
            return
        if is_endless(url) or (mark and self.queries[path] >= MAX_QUERIES):
            return
        if depth > self.limits.depth:
            self.too_deep = self.too_deep or url
            return
        self.queries[path] += bool(mark)
        self.seen.add(key)
        self.queue.append((url, depth))

    async def _add_links(self, page_links: PageLinks, url: str, depth: int) -> None:
        base = normalise(page_links.base, url) or url if page_links.base else url
        if page_links.canonical and (canonical := self.scope.take(page_links.canonical, base)):
            self._add(canonical, depth)
        if self.follows and not page_links.nofollow:
            for taken in await asyncio.to_thread(self.scope.take_all, page_links.links, base):
                self._add(taken, depth + 1)

    def _recheck(self) -> None:
        """Pages from the last time that nothing led to now."""
        for key, page in self.old.pages.items():
            if key not in self.seen and self.scope.holds(page.url):
                self.seen.add(key)
                self.queue.append((page.url, None))

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self.queue and not self.stopped:
            if self.visits >= self.limits.pages:
                self.stopped = (
                    f"Only {self.visits} pages were fetched; set BYTHEBOOK_FETCH_PAGES to a higher "
                    "number for more"
                )
            elif loop.time() > self.deadline:
                self.stopped = (
                    f"Fetching was stopped after {self.limits.seconds / 60:g} minutes, with "
                    f"{len(self.queue)} pages left; run the same command again to continue, or "
                    "raise BYTHEBOOK_FETCH_MINUTES"
                )
                self.report.failed.append(self.queue[0][0])
            else:
                await self._visit(*self.queue.popleft())
                if self.visits % SAVE_PAGES == 0:
                    await asyncio.to_thread(self.mirror.save, self._record_so_far())
            self.report.waiting = len(self.queue)
            self.on_fetch(self.report)

    async def _visit(self, url: str, depth: int | None) -> None:
        key = key_of(url)
        known = self.old.pages.get(key)
        if key in self.done:
            return
        self.done.add(key)
        if not self.robots.allows(url):
            self.blocked += 1
            self._drop(known)
            return
        self.visits += 1
        try:
            answer = await self._ask(known.url if known else url, known)
        except TooLargePage as problem:
            self.report.problems.append(problem.message.rstrip("."))
            if known:
                self.record.pages[key] = known
            return
        except SourceError as problem:
            down = isinstance(problem, Unreachable)
            page_links = await self._fail(url, problem.message.rstrip("."), known, down=down)
        else:
            page_links = await self._take(key, answer, known)
            url = answer.url
        if page_links and depth is not None:
            await self._add_links(page_links, url, depth)

    async def _ask(self, url: str, known: FetchedPage | None) -> WebResponse:
        etag, last_modified = await asyncio.to_thread(validators_of, known, self.mirror)
        for last in (False, True):
            answer = await self.web.get(
                url,
                self.limits.page_bytes,
                allowed=lambda other: self.scope.holds(other) and self.robots.allows(other),
                etag=etag,
                last_modified=last_modified,
            )
            patient = 0 < answer.retry_after <= MAX_RETRY_AFTER
            if last or answer.status not in (429, 503) or not patient:
                break
            await asyncio.sleep(answer.retry_after)
        return answer

    async def _take(
        self, key: str, answer: WebResponse, known: FetchedPage | None
    ) -> PageLinks | None:
        """Do what the answer says; what the page says if its links count."""
        if answer.status == 304 and known:
            self.failures = 0
            self.report.unchanged += 1
            body = await asyncio.to_thread(self.mirror.read_page, known)
            return await self._keep(key, known, body or b"")
        if answer.redirect or answer.gone:
            self.failures = 0
            if answer.permanent or answer.gone or known is None:
                self._drop(known)
                return None
            return await self._fail(known.url, f"{known.url} redirects elsewhere now", known)
        if answer.status != 200:
            reason = f"{answer.url} answered {answer.status}"
            down = answer.status >= 500 or answer.status == 429
            return await self._fail(answer.url, reason, known, down=down)
        self.failures = 0
        if key_of(answer.url) != key:  # it was redirected to another page of the book
            if known and not answer.permanent:
                self.record.pages[key] = known
            else:
                self._drop(known)
            if key_of(answer.url) in self.done:
                return None
            key = key_of(answer.url)
            self.seen.add(key)
            self.done.add(key)
            known = self.old.pages.get(key)
        return await self._store(key, answer, known)

    async def _store(
        self, key: str, answer: WebResponse, known: FetchedPage | None
    ) -> PageLinks | None:
        kind = _kind(answer)
        if not kind or (kind != ".html" and not self.starting):
            self._drop(known)
            if self.starting:
                named = answer.content_type or "unknown"
                self.report.problems.append(f"{answer.url} is not a page: its type is {named}")
            return None
        body = answer.body
        if kind == ".html":
            body = await asyncio.to_thread(to_utf8, body, answer.charset)
        file = file_name(self.scope, answer.url, kind)
        page = FetchedPage(
            url=answer.url,
            file=file,
            hash=await asyncio.to_thread(self.mirror.write_page, file, body),
            etag=answer.etag,
            last_modified=answer.last_modified,
        )
        if known and known.hash == page.hash:
            self.report.unchanged += 1
        else:
            self.report.fetched += 1
        return await self._keep(key, page, body)

    async def _keep(self, key: str, page: FetchedPage, body: bytes) -> PageLinks | None:
        if not page.file.endswith((".html", ".htm")):
            self.record.pages[key] = page
            return PageLinks(title=page.file.rpartition(".")[0])
        page_links = await asyncio.to_thread(read_links, body)
        if page_links.noindex:
            self._drop(self.old.pages.get(key))
            return page_links
        canonical = (
            self.scope.take(page_links.canonical, page.url) if page_links.canonical else None
        )
        self.record.pages[key] = page.model_copy(
            update={"canonical": canonical or "", "instead": ""}
        )
        first = self.hashes.setdefault(page.hash, key)
        return page_links if first == key else None  # the links of a copy lead to further copies

    async def _fail(
        self, url: str, reason: str, known: FetchedPage | None, *, down: bool = False
    ) -> PageLinks | None:
        """Leave the page as it was. `down` says that it may be the whole site that fails."""
        self.failures = self.failures + 1 if down else 0
        self.report.failed.append(url)
        stays = "what was read before stays" if known else "it is not in the book"
        self.report.problems.append(f"{reason}; {stays}")
        if self.failures >= MAX_FAILURES:
            self.stopped = (
                f"{self.scope.origin} failed {self.failures} times one after the other, so nothing "
                "more was asked for; what was read before stays. Try again later"
            )
        if known is None:
            return None
        self.record.pages[key_of(known.url)] = known.model_copy(update={"instead": ""})
        body = await asyncio.to_thread(self.mirror.read_page, known)
        return await asyncio.to_thread(read_links, body) if body else None

    def _drop(self, known: FetchedPage | None) -> None:
        if known:
            self.report.gone.append(known.file)

    def _record_so_far(self) -> SiteRecord:
        rest = {
            key: page
            for key, page in self.old.pages.items()
            if key not in self.done and self.scope.holds(page.url)
        }
        return self.record.model_copy(update={"pages": {**self.record.pages, **rest}})

    async def _finish(self) -> None:
        record = self._record_so_far()
        if not record.start:
            record.start = self.start
        record.title = record.title or urlsplit(record.start).hostname or ""
        record.whole = self.old.whole or not self.report.failed
        if not record.pages:
            raise SourceError(
                f"None of the pages of {self.start} can be read.",
                action=(self.report.problems or ["Check the address"])[0] + ".",
            )
        mark_repeats(record)
        await asyncio.to_thread(self.mirror.save, record)
        await asyncio.to_thread(self.mirror.tidy, record)
        self._sum_up()

    def _sum_up(self) -> None:
        problems = self.report.problems
        if len(problems) > SHOWN_PROBLEMS:
            more = len(problems) - SHOWN_PROBLEMS
            problems[SHOWN_PROBLEMS:] = [f"… and {more} more pages that could not be fetched"]
        if self.blocked:
            problems.append(f"{self.blocked} addresses were left out because of robots.txt")
        if self.too_deep:
            problems.append(
                f"Pages more than {self.limits.depth} links from the start were left out, such as "
                f"{self.too_deep}; set BYTHEBOOK_FETCH_DEPTH to a higher number for more"
            )
        if self.stopped:
            problems.insert(0, self.stopped)
        self.on_fetch(self.report)


def _kind(answer: WebResponse) -> str:
    """`.html` for a page; a server that does not say what it sends may still send one."""
    if answer.content_type in DOCUMENTS:
        return DOCUMENTS[answer.content_type]
    start = answer.body[:1000].lower()
    looks = b"<html" in start or b"<!doctype html" in start
    return ".html" if answer.content_type in HTML or (not answer.content_type and looks) else ""
