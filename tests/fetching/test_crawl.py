"""A site becomes a folder of pages, and stays in step with it."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from bythebook.errors import SourceError
from bythebook.reading.source import decode
from fetching.crawling import crawl, paths
from fetching.site import Content, Pages, Reply, moved, packed, page, serving

START = page("Start", links="a b/ b c.html?utm_source=mail c.html#part ../outside /docs/a?")


async def test_pages_below_the_start_are_found_by_their_links(home: Path) -> None:
    pages: Pages = {
        "/docs/": START,
        "/docs/a": page("Apples", links="/docs/d/e"),
        "/docs/b/": page("Berries"),
        "/docs/c.html": page(
            "Cherries", links="javascript:x() mailto:a@b.example data:text/html,x"
        ),
        "/docs/d/e": page("Elderberries"),
        "/outside": page("Outside"),
    }
    with serving(pages) as site:
        book = await crawl(site, home)
    assert paths(book, site) == [
        "/docs/",
        "/docs/a",
        "/docs/b/",
        "/docs/c.html",
        "/docs/d/e",
    ]
    assert book.files == ("a.htm", "b.htm", "c.html", "d/e.htm", "index.htm")
    assert book.title == "Start - Manual"
    assert not book.problems
    assert ("/outside", 200) not in site.asked
    assert len([path for path, _ in site.asked if path.startswith("/docs/")]) == 6  # one sitemap
    assert site.agents == {agent for agent in site.agents if agent.startswith("bythebook/")}


async def test_a_page_is_read_without_what_is_around_its_text(home: Path) -> None:
    with serving({"/docs/": page("Start", "Ä text about valves.")}) as site:
        book = await crawl(site, home)
    text = decode("index.htm", (book.root / "index.htm").read_bytes()).text
    assert "Ä text about valves." in text
    assert "Banner" not in text and "Imprint" not in text


async def test_unchanged_pages_are_not_sent_again(home: Path) -> None:
    pages: Pages = {
        "/docs/": page("Start", links="a b"),
        "/docs/a": page("Apples"),
        "/docs/b": Reply(page("Berries").encode(), tagged=False),
    }
    with serving(pages) as site:
        await crawl(site, home)
        site.asked.clear()
        site.pages["/docs/a"] = page("Apples", "Apples are now sold by weight in every shop.")
        book = await crawl(site, home)
        assert site.statuses("/docs/") == [304]
        assert site.statuses("/docs/a") == [200]
        assert site.statuses("/docs/b") == [200]  # it has no tag
        site.asked.clear()
        await crawl(site, home)
        assert [status for path, status in site.asked if status == 304] == [304, 304]
        # A file that was changed or lost here is fetched whole.
        (book.root / "a.htm").write_text("changed")
        (book.root / "index.htm").unlink()
        site.asked.clear()
        await crawl(site, home)
    assert site.statuses("/docs/") == site.statuses("/docs/a") == [200]
    assert "sold by weight" in (book.root / "a.htm").read_text()


async def test_a_tag_that_cant_be_sent_back_is_not(home: Path) -> None:
    reply = Reply(page("Start").encode(), headers={"ETag": "\xff\xfe"}, tagged=False)
    with serving({"/docs/": reply}) as site:
        await crawl(site, home)
        await crawl(site, home)
    assert site.statuses("/docs/") == [200, 200]


async def test_last_modified_is_used_where_there_is_no_tag(home: Path) -> None:
    day = "Sun, 01 Nov 2026 10:00:00 GMT"
    reply = Reply(page("Start").encode(), headers={"Last-Modified": day}, tagged=False)
    with serving({"/docs/": reply}) as site:
        await crawl(site, home)
        await crawl(site, home)
    assert site.statuses("/docs/") == [200, 304]


@pytest.mark.parametrize("status", [404, 410])
async def test_a_page_that_vanished_is_removed(home: Path, status: int) -> None:
    pages: Pages = {
        "/docs/": page("Start", links="a b"),
        "/docs/a": page("A"),
        "/docs/b": page("B"),
    }
    with serving(pages) as site:
        first = await crawl(site, home)
        site.pages["/docs/a"] = Reply(status=status)
        book = await crawl(site, home)
        assert book.files == ("b.htm", "index.htm")
        assert not (first.root / "a.htm").exists()
        # Also if nothing leads to it any more.
        site.pages["/docs/"] = page("Start, changed")
        book = await crawl(site, home)
        assert book.files == ("b.htm", "index.htm")
        del site.pages["/docs/b"]
        book = await crawl(site, home)
    assert book.files == ("index.htm",)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=500),
        Reply(status=503),
        Reply(status=429),
        Reply(status=403),
        moved("https://login.example/"),
        moved("ftp://files.example/"),
        Reply(b"\x1f\x8b damaged", headers={"Content-Encoding": "gzip"}),
        Reply(b"x", headers={"Content-Encoding": "br"}),
    ],
)
async def test_a_page_that_fails_stays_as_it_was(home: Path, reply: Reply) -> None:
    pages: Pages = {"/docs/": page("Start", links="a b"), "/docs/a": page("A", links="c")}
    with serving({**pages, "/docs/b": page("B"), "/docs/c": page("C")}) as site:
        before = await crawl(site, home)
        site.pages["/docs/a"] = reply
        book = await crawl(site, home)
    assert book.files == before.files == ("a.htm", "b.htm", "c.htm", "index.htm")
    assert [text for text in book.problems if "/docs/a" in text and "stays" in text]


async def test_a_site_that_is_down_takes_nothing_away(home: Path) -> None:
    names = [f"p{number}" for number in range(9)]
    pages: Pages = {f"/docs/{name}": page(name) for name in names}
    with serving({"/docs/": page("Start", links=" ".join(names)), **pages}) as site:
        before = await crawl(site, home)
        site.down = True
        with pytest.raises(SourceError, match=r"robots\.txt answered 503"):
            await crawl(site, home)
        site.down = False
        site.pages["/robots.txt"] = ""
        site.pages["/docs/"] = Reply(status=502)
        with pytest.raises(SourceError, match="answered 502"):
            await crawl(site, home)
        # Only the start page works: after some failures nothing more is asked for.
        site.pages.update({f"/docs/{name}": Reply(status=500) for name in names})
        site.pages["/docs/"] = page("Start", links=" ".join(names))
        site.asked.clear()
        book = await crawl(site, home)
        assert len([path for path, status in site.asked if status == 500]) == 5
    assert book.files == before.files
    assert "what was read before stays" in book.problems[0]
    with pytest.raises(SourceError, match="can't be fetched"):
        await crawl(site, home)  # nobody listens there any more


async def test_pages_for_others_do_not_end_the_crawl(home: Path) -> None:
    closed = [f"closed{number}" for number in range(9)]
    pages: dict[str, Content] = {f"/docs/{name}": Reply(status=403) for name in closed}
    pages["/docs/"] = page("Start", links=" ".join([*closed, "open"]))
    with serving({**pages, "/docs/open": page("Open")}) as site:
        book = await crawl(site, home)
    assert book.files == ("index.htm", "open.htm")
    assert len(book.problems) == len(closed)


async def test_what_a_lost_copy_does_not_show_is_not_taken_for_gone(home: Path) -> None:
    """The index may know pages that a new machine could not fetch yet."""
    with serving({"/docs/": page("Start", links="a b"), "/docs/a": page("A")}) as site:
        site.pages["/docs/b"] = Reply(status=500)
        book = await crawl(site, home)
        assert book.removed == frozenset()
        site.pages["/docs/a"] = Reply(status=404)
        book = await crawl(site, home)
        assert book.removed == frozenset({"a.htm"})
        site.pages["/docs/b"] = page("B")
        book = await crawl(site, home)
        assert book.removed is None
        site.pages["/docs/b"] = Reply(status=500)
        book = await crawl(site, home)
    assert book.removed is None and "b.htm" in book.files


async def test_sitemaps_are_the_sites_own_list(home: Path) -> None:
    def urls(*names: str) -> str:
        return "<urlset>" + "".join(f"<url><loc>{name}</loc></url>" for name in names) + "</urlset>"

    with serving({"/docs/": page("Start", links="unlisted")}) as site:
        packed_map = gzip.compress(urls(f"{site.url}/docs/b", "https://evil.example/x").encode())
        index = (
            f"<sitemapindex><sitemap><loc>{site.url}/one.xml</loc></sitemap>"
            f"<sitemap><loc>{site.url}/two.xml.gz</loc></sitemap>"
            f"<sitemap><loc>{site.url}/index.xml</loc></sitemap>"
            "<sitemap><loc>http://169.254.169.254/x.xml</loc></sitemap></sitemapindex>"
        )
        site.pages |= {
            "/robots.txt": f"Sitemap: {site.url}/index.xml",
            "/index.xml": Reply(index.encode(), kind="application/xml"),
            "/one.xml": urls(f" {site.url}/docs/a?x=1&amp;y=2 ", f"{site.url}/docs/", "/blog/x"),
            "/two.xml.gz": Reply(packed_map, kind="application/gzip"),
            "/docs/a?x=1&y=2": page("A"),
            "/docs/b": page("B", links="unlisted"),
            "/docs/unlisted": page("Unlisted"),
            "/blog/x": page("Blog"),
        }
        book = await crawl(site, home)
        assert paths(book, site) == ["/docs/", "/docs/a?x=1&y=2", "/docs/b"]
        book = await crawl(site, home, "/index.xml")
        assert paths(book, site) == ["/docs/a?x=1&y=2", "/docs/", "/blog/x", "/docs/b"]
        assert site.statuses("/index.xml") == [200, 200]
        site.pages["/empty.xml"] = urls("https://elsewhere.example/")
        with pytest.raises(SourceError, match="lists no page"):
            await crawl(site, home, "/empty.xml")


async def test_robots_txt_is_kept(home: Path) -> None:
    pages: Pages = {
        "/docs/": page("Start", links="a secret/x b"),
        "/docs/a": page("A"),
        "/docs/b": moved("/docs/secret/y", 301),
        "/docs/secret/x": page("X"),
        "/docs/secret/y": page("Y"),
        "/docs/none": page("None", head='<meta name="robots" content="noindex, nofollow">'),
    }
    with serving(pages) as site:
        before = await crawl(site, home)
        assert len(before.files) == 4
        site.pages["/robots.txt"] = "User-agent: bythebook\nDisallow: /docs/secret/"
        site.pages["/docs/"] = page("Start", links="a secret/x b none")
        site.asked.clear()
        book = await crawl(site, home)
        assert book.files == ("a.htm", "index.htm")
        assert any("because of robots.txt" in text for text in book.problems)
        assert not [path for path, _ in site.asked if path.startswith("/docs/secret/")]
        site.pages["/robots.txt"] = "User-agent: *\nDisallow: /"
        with pytest.raises(SourceError, match=r"robots\.txt of the site does not allow"):
            await crawl(site, home)


async def test_copies_of_a_page_are_one_page(home: Path) -> None:
    canonical = '<link rel="canonical" href="{}">'
    pages: Pages = {
        "/docs/": page(
            "Start", links="index.html a a?print=1 a?session=2 old/a one two lost c1 c2"
        ),
        "/docs/a": page("A"),
        "/docs/a?print=1": page("A for print", head=canonical.format("/docs/a")),
        "/docs/a?session=2": page("A"),
        "/docs/old/a": page("Old A", head=canonical.format("/docs/a")),
        # Each names the other; one must stay.
        "/docs/one": page("One", head=canonical.format("/docs/two")),
        "/docs/two": page("Two", head=canonical.format("/docs/one")),
        # The canonical page is not there, is elsewhere, or is the start page of everything.
        "/docs/lost": page("Lost", head=canonical.format("/docs/nowhere")),
        "/docs/c1": page("C1", head=canonical.format("https://elsewhere.example/c1")),
        "/docs/c2": page("C2", head=canonical.format("/docs/")),
    }
    with serving({**pages, "/docs/index.html": pages["/docs/"]}) as site:
        book = await crawl(site, home)
        expected = ["/docs/", "/docs/a", "/docs/two", "/docs/lost", "/docs/c1", "/docs/c2"]
        assert paths(book, site) == expected
        site.asked.clear()
        assert paths(await crawl(site, home), site) == expected
    asked = [status for path, status in site.asked if path in pages]
    assert asked == [304] * len(pages)


async def test_redirects_inside_the_site_lead_to_the_page(home: Path) -> None:
    pages: Pages = {
        "/docs": moved("/docs/", 301),
        "/docs/": page("Start", links="a b"),
        "/docs/a": moved("/docs/new/a", 301),
        "/docs/new/a": page("A"),
        "/docs/b": page("B"),
    }
    with serving(pages) as site:
        book = await crawl(site, home, "/docs")
        assert paths(book, site) == ["/docs/", "/docs/new/a", "/docs/b"]
        site.pages["/docs/b"] = moved("/docs/new/a", 301)
        assert paths(await crawl(site, home, "/docs"), site) == ["/docs/", "/docs/new/a"]


async def test_encodings_are_what_the_server_says_unless_it_is_wrong(home: Path) -> None:
    def latin(title: str, kind: str, meta: str = "") -> Reply:
        text = page(title, f"Über den Wolken steht {title} in großen Lettern.", head=meta)
        return Reply(text.encode("latin-1"), kind=kind)

    with serving(
        {
            "/docs/": page("Start", links="named meta wrong unknown"),
            "/docs/named": latin(
                "named", "text/html; charset=ISO-8859-1", '<meta charset="utf-8">'
            ),
            "/docs/meta": latin("meta", "text/html", '<meta charset="iso-8859-1">'),
            "/docs/wrong": latin("wrong", "text/html; charset=utf-8"),
            "/docs/unknown": latin("unknown", 'text/html; charset="x-none"'),
        }
    ) as site:
        book = await crawl(site, home)
    for name in ("named", "meta", "wrong", "unknown"):
        text = decode(f"{name}.htm", (book.root / f"{name}.htm").read_bytes()).text
        assert f"Über den Wolken steht {name} in großen Lettern." in text


async def test_a_packed_page_is_unpacked(home: Path) -> None:
    with serving({"/docs/": packed(page("Start").encode())}) as site:
        book = await crawl(site, home)
    assert b"<h1>Start" in (book.root / "index.htm").read_bytes()


async def test_a_whole_book_in_one_file_can_be_the_start(home: Path) -> None:
    with serving(
        {
            "/books/valves.md": Reply(b"# Valves\n\nText.", kind="text/markdown"),
            "/docs/": page("Start", links="/docs/x.pdf"),
            "/docs/x.pdf": Reply(b"%PDF-", kind="application/pdf"),
            "/docs/picture": Reply(b"\x89PNG", kind="image/png"),
        }
    ) as site:
        book = await crawl(site, home, "/books/valves.md")
        assert book.addresses == {"valves.md": f"{site.url}/books/valves.md"}
        assert (await crawl(site, home)).files == ("index.htm",)
        with pytest.raises(SourceError, match="its type is image/png"):
            await crawl(site, home, "/docs/picture")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses are noted instead of waited for."""
    noted: list[float] = []

    async def sleep(seconds: float) -> None:
        noted.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return noted


async def test_requests_keep_the_pause_that_the_site_asks_for(
    home: Path, pauses: list[float]
) -> None:
    pages: Pages = {"/docs/": page("Start", links="a"), "/docs/a": page("A")}
    with serving({**pages, "/robots.txt": "User-agent: *\nCrawl-delay: 7"}) as site:
        await crawl(site, home)
        assert len(site.asked) == 5  # robots.txt, the start page, two sitemaps, a page
        assert len(pauses) == 2  # the rule is known behind the start page
        assert 6 < pauses[0] <= 7 and 13 < pauses[1] <= 14
        pauses.clear()
        await crawl(site, home / "other", fetch_delay=9.0)
    assert len(pauses) == 4 and pauses[0] > 8


async def test_a_busy_site_is_asked_again_when_it_says(home: Path, pauses: list[float]) -> None:
    replies: dict[str, Iterator[Content]] = {
        "/docs/a": iter([Reply(status=429, headers={"Retry-After": "2"}), page("A")]),
        "/docs/b": iter([Reply(status=503, headers={"Retry-After": "9999"}), page("B")]),
    }

    def next_reply(path: str) -> Reply:
        reply = next(replies[path])
        return Reply(reply.encode()) if isinstance(reply, str) else cast(Reply, reply)

    pages: Pages = {
        "/docs/": page("Start", links="a b"),
        "/docs/a": next_reply,
        "/docs/b": next_reply,
    }
    with serving(pages) as site:
        book = await crawl(site, home)
    assert book.files == ("a.htm", "index.htm")
    assert pauses == [2]


async def test_a_page_that_sends_on_is_a_link(home: Path) -> None:
    refresh = '<meta http-equiv="refresh" content="0; url=/docs/latest/">'
    base = '<base href="/">'
    pages: Pages = {
        "/docs/": f"<html><head>{refresh}</head></html>",
        "/docs/latest/": page("Latest", links="docs/deep/below", head=base),
        "/docs/deep/below": page("Below"),
    }
    with serving(pages) as site:
        book = await crawl(site, home)
    assert paths(book, site) == ["/docs/", "/docs/latest/", "/docs/deep/below"]
