"""Sites that are made to harm whoever reads them."""

from __future__ import annotations

import gzip
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bythebook.errors import ConfigurationError, SourceError
from bythebook.fetching.guard import Guard
from bythebook.fetching.web import Web
from fetching.crawling import crawl, paths
from fetching.name_server import names, with_names
from fetching.site import Pages, Reply, Site, moved, page, serving

BOTH = ["127.0.0.9", "127.0.0.1"]
METADATA = "http://169.254.169.254/latest/meta-data/"


@contextmanager
def neighbour() -> Iterator[Site]:
    """Another service of this machine, which nobody allowed to be fetched."""
    with serving({"/docs/secret": page("Secret"), "/robots.txt": "", "/": page("Secret")}) as site:
        yield site


async def test_redirects_to_private_addresses_are_not_followed(home: Path) -> None:
    with neighbour() as other:
        pages: Pages = {
            "/docs/": page("Start", links="meta local good loop self"),
            "/docs/meta": moved(METADATA),
            "/docs/local": moved(f"{other.url}/docs/secret"),
            "/docs/good": page("Good"),
            "/docs/loop": moved("/docs/loop2"),
            "/docs/loop2": moved("/docs/loop"),
            "/docs/self": moved("/docs/self"),
            "/start-meta": moved(METADATA),
            "/start-local": moved(f"{other.url}/docs/secret"),
        }
        with serving(pages) as site:
            book = await crawl(site, home)
            assert paths(book, site) == ["/docs/", "/docs/good"]
            assert [text for text in book.problems if "redirects to itself" in text]
            with pytest.raises(SourceError, match=r"169\.254\.169\.254 is not a public"):
                await crawl(site, home, "/start-meta")
            with pytest.raises(SourceError, match="is not a public address") as refused:
                await crawl(site, home, "/start-local")
            assert f"BYTHEBOOK_FETCH_PRIVATE={other.private}" in refused.value.action
            site.pages["/robots.txt"] = moved(METADATA)
            with pytest.raises(SourceError, match=r"169\.254\.169\.254"):
                await crawl(site, home)
        assert not other.asked


async def test_nothing_private_is_fetched_unless_it_is_allowed(home: Path) -> None:
    with serving({"/docs/": page("Start")}) as site:
        for private in ("", "10.0.0.0/8", "127.0.0.1:1", "[::1]", "127.0.0.2"):
            with pytest.raises(SourceError, match=r"127\.0\.0\.1 is not a public address"):
                await crawl(site, home, fetch_private=private)
        assert not site.asked
        for private in ("127.0.0.0/8", "127.0.0.1", f"10.0.0.1, 127.0.0.1:{site.port}"):
            assert (await crawl(site, home, fetch_private=private)).files
    for wrong in ("localhost", "127.0.0.1:x", "[::1"):
        with pytest.raises(ConfigurationError, match="BYTHEBOOK_FETCH_PRIVATE"):
            Guard.from_setting(wrong)


@pytest.mark.parametrize(
    "address",
    "127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 0.0.0.0 100.64.0.1 192.0.2.1 "
    "224.0.1.1 255.255.255.255 ::1 :: fe80::1 fd00::1 ff0e::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 "
    "::7f00:1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 2002:7f00:1:: 2001:db8::1".split(),
)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    assert not Guard().permits(ip_address(address), 80)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are_allowed(address: str) -> None:
    assert Guard().permits(ip_address(address), 443)


async def test_a_name_is_looked_up_once_and_that_address_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name server may give another address each time it is asked."""
    asked: list[str] = []

    with neighbour() as allowed, neighbour() as other:

        def lookup(host: Any, port: Any, *args: Any, **more: Any) -> list[Any]:
            asked.append(str(host))
            rebound = asked.count("rebinding.example") > 1
            address = "127.0.0.1" if host != "rebinding.example" or rebound else "127.0.0.9"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        monkeypatch.setattr(socket, "getaddrinfo", lookup)
        web = Web(Guard.from_setting(f"127.0.0.9:{allowed.port}"), 5, 0)
        async with web:
            # Nobody listens at the address that was looked at; at the next one somebody would.
            with pytest.raises(SourceError, match="can't be fetched"):
                await web.get(f"http://rebinding.example:{allowed.port}/", 1000)
            with pytest.raises(SourceError, match="not a public address"):
                await web.get(f"http://rebinding.example:{allowed.port}/", 1000)
        assert asked.count("rebinding.example") == 2
        assert not allowed.asked and not other.asked


@pytest.mark.parametrize(
    "answers", [(["127.0.0.9"], ["127.0.0.1"]), (["127.0.0.1"], ["127.0.0.9"]), (BOTH, BOTH[::-1])]
)
def test_a_name_server_that_gives_another_address_each_time(
    answers: list[list[str]], tmp_path: Path
) -> None:
    """A real one, for the real command: only what was allowed is asked for anything."""
    pages: Pages = {"/docs/": page("Start", links="a b c"), "/robots.txt": ""}
    pages = {**pages, **{f"/docs/{name}": page(name.upper()) for name in "abc"}}
    secret: Pages = {"/docs/": page("Secret"), "/docs/secret": page("Secret")}
    with (
        names(answers) as server,
        serving(pages, "127.0.0.9") as allowed,
        serving(secret, "127.0.0.1", allowed.port) as other,
    ):
        start = f"http://rebinding.example:{allowed.port}/docs/"
        settings = {
            "BYTHEBOOK_HOME": str(tmp_path / "home"),
            "BYTHEBOOK_FETCH_PRIVATE": f"127.0.0.9:{allowed.port}",
            "BYTHEBOOK_FETCH_DELAY": "0",
        }
        command = [sys.executable, "-m", "bythebook", "ingest", start]
        for _ in range(2):
            ended = with_names(tmp_path, command, **settings)
            assert "Traceback" not in ended.stderr, ended.stderr
        assert len(set(server.given)) == 2
        assert not other.asked, other.asked


async def test_pages_that_are_too_large_are_left_out(home: Path) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    pages: Pages = {
        "/docs/": page("Start", links="bomb huge endless good"),
        "/docs/bomb": Reply(bomb, headers={"Content-Encoding": "gzip"}),
        "/docs/huge": page("Huge", "word " * 300_000),
        "/docs/endless": Reply(b"x" * 100_000, parts=1_000_000),
        "/docs/good": page("Good"),
    }
    with serving(pages) as site:
        book = await crawl(site, home, max_file_mb=1)
        assert paths(book, site) == ["/docs/", "/docs/good"]
        assert len([text for text in book.problems if "more than the 1 MB" in text]) == 3
        site.pages["/docs/"] = page("Start", "word " * 300_000)
        with pytest.raises(SourceError, match="more than the 1 MB"):
            await crawl(site, home, max_file_mb=1)


async def test_slow_pages_are_given_up(home: Path) -> None:
    held = threading.Event()
    pages: Pages = {
        "/docs/": page("Start", links="silent dribble good"),
        "/docs/silent": Reply(b"x", wait=held.wait),
        # Always something, so that no single pause is long.
        "/docs/dribble": Reply(b"x", parts=10_000, wait=lambda: held.wait(0.02)),
        "/docs/good": page("Good"),
    }
    with serving(pages) as site:
        try:
            book = await crawl(site, home, fetch_page_seconds=0.5)
        finally:
            held.set()
    assert paths(book, site) == ["/docs/", "/docs/good"]
    assert len([text for text in book.problems if "took longer than 0.5 s" in text]) == 2


async def test_links_without_end_come_to_an_end(home: Path) -> None:
    def calendar(path: str) -> Reply:
        month = int(path.rpartition("=")[2])
        return Reply(
            page(f"Month {month}", links=f"?month={month + 1} ?month={month + 2}").encode()
        )

    def days(path: str) -> Reply:
        day = int(path.rpartition("/")[2])
        return Reply(page(f"Day {day}", links=f"/docs/day/{day + 1}").encode())

    def circles(path: str) -> Reply:
        return Reply(page(f"Circle {len(path)}", links=f"{path}/again/").encode())

    pages: Pages = {
        "/docs/": page("Start", links="cal?month=1 day/1 circle good same/1"),
        "/docs/cal?month=…": calendar,
        "/docs/day/…": days,
        "/docs/circle…": circles,
        "/docs/same/…": page("Same", links="x/1 y/2"),
        "/docs/good": page("Good"),
    }
    with serving(pages) as site:
        book = await crawl(site, home, fetch_depth=8)
        found = paths(book, site)
        assert "/docs/good" in found
        assert [path for path in found if path.startswith("/docs/day/")] == [
            f"/docs/day/{day}" for day in range(1, 9)
        ]
        assert len([path for path in found if "month" in path]) <= 16
        assert len([path for path in found if "circle" in path]) == 4
        assert [path for path in found if "same" in path] == ["/docs/same/1"]
        assert any("BYTHEBOOK_FETCH_DEPTH" in text for text in book.problems)
        book = await crawl(site, home / "other", fetch_depth=500)
        assert len([path for path in paths(book, site) if "month" in path]) == 50
        site.asked.clear()
        book = await crawl(site, home / "third", fetch_pages=10)
        assert len(book.files) <= 10
        assert len([path for path, _ in site.asked if path.startswith("/docs/")]) == 11
    assert any("BYTHEBOOK_FETCH_PAGES" in text for text in book.problems)


async def test_a_crawl_that_takes_too_long_stops_and_can_be_continued(home: Path) -> None:
    with serving({"/docs/": page("Start", links="a"), "/docs/a": page("A")}) as site:
        book = await crawl(site, home, fetch_minutes=1e-9)
        assert book.files == ("index.htm",)
        assert "BYTHEBOOK_FETCH_MINUTES" in book.problems[0]
        assert book.removed == frozenset()
        assert (await crawl(site, home)).files == ("a.htm", "index.htm")


HOSTILE = [
    "../../../etc/passwd",
    "%2e%2e/%2e%2e/x",
    "..%2f..%2fx",
    "a\\..\\b",
    "a%00b",
    "CON",
    "name.",
    "x" * 400,
    "übung/größe",
    "日本語",
    "a?b=../../c&d=%2F",
    "A",
    "a",
    ".hidden",
    "site.json",
    "a.html/b",
    "a.html",
    "'\"<>|*",
]


async def test_no_address_leads_out_of_the_folder(home: Path) -> None:
    links = " ".join(quote(name, safe="%/?&=.\\").replace(" ", "") for name in HOSTILE)
    count = iter(range(1000))

    def anything(path: str) -> Reply:
        return Reply(page(f"Page {next(count)} {path[:20]}").encode())

    with serving({"/docs/": page("Start", links=links), "/docs/…": anything}) as site:
        site.pages["/docs/sitemap.xml"] = Reply(status=404)
        book = await crawl(site, home)
    assert len(book.files) >= len(HOSTILE) - 2  # two lead out of the site
    outside = [file for file in home.rglob("*") if file.is_file()]
    assert {
        file.relative_to(book.root).as_posix() for file in outside if file.name != "site.json"
    } == (set(book.files))
    assert set(book.addresses) == set(book.files)


async def test_only_pages_are_taken_for_pages(home: Path) -> None:
    pages: Pages = {
        "/docs/": page("Start", links="zip plain nothing picture"),
        "/docs/zip": Reply(b"PK\x03\x04", kind="application/zip"),
        "/docs/plain": Reply(b"text", kind="text/plain"),
        "/docs/picture": Reply(b"\x89PNG", kind=""),
        "/docs/nothing": Reply(page("Nothing said").encode(), kind=""),
    }
    with serving(pages) as site:
        book = await crawl(site, home)
    assert paths(book, site) == ["/docs/", "/docs/nothing"]


async def test_sitemaps_that_are_bombs_or_circles_do_no_harm(home: Path) -> None:
    bomb = gzip.compress(b"<urlset>" + b"<url/>" * 6_000_000)
    with serving({"/docs/": page("Start", links="a"), "/docs/a": page("A")}) as site:
        site.pages["/robots.txt"] = f"Sitemap: {site.url}/map.xml\nSitemap: {site.url}/bomb.xml.gz"
        site.pages["/map.xml"] = (
            f"<sitemapindex><sitemap><loc>{site.url}/map.xml</loc></sitemap></sitemapindex>"
        )
        site.pages["/bomb.xml.gz"] = Reply(bomb, kind="application/gzip")
        book = await crawl(site, home)
        assert book.files == ("a.htm", "index.htm")
        with pytest.raises(SourceError, match="unpacks to more than"):
            await crawl(site, home, "/bomb.xml.gz")
