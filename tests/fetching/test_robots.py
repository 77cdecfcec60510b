"""What a site asks programs to leave alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.fetching.discovery import read_robots

HOST = "https://a.example"

OURS = b"""
User-agent: *
Disallow: /

User-agent: other
User-agent: ByTheBook  # us
Disallow: /private
Allow: /private/open$
Disallow: /*.pdf$
Disallow: /*?print=
Disallow: /caf%c3%a9
Crawl-delay: 2.5
Sitemap: /maps/all.xml
Disallow:
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/private", False),
        ("/private/x", False),
        ("/private/open", True),
        ("/private/open/x", False),
        ("/a.pdf", False),
        ("/a.pdf/x", True),
        ("/a?print=1", False),
        ("/a?page=1", True),
        ("/caf%C3%A9/x", False),
    ],
)
def test_the_longest_rule_decides(path: str, allowed: bool) -> None:
    assert read_robots(OURS, HOST).allows(HOST + path) is allowed


def test_delay_and_sitemaps_are_read() -> None:
    found = read_robots(OURS, HOST + "/robots.txt")
    assert found.delay == 2.5
    assert found.sitemaps == (HOST + "/maps/all.xml",)


def test_rules_for_everybody_count_where_there_are_none_for_us() -> None:
    found = read_robots(b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /a\r\nAllow: /a\r\n", HOST)
    assert found.allows(HOST + "/a")  # as long, so the kinder one
    found = read_robots(b"User-agent: *\nDisallow: /a\nUser-agent: bythebook\nAllow: /\n", HOST)
    assert found.allows(HOST + "/a")
    assert not read_robots(b"User-agent: *\nDisallow: /", HOST).allows(HOST + "/a")
    assert read_robots(b"<html>not found</html>\0\xff", HOST).allows(HOST + "/a")
    assert read_robots(b"User-agent: *\nCrawl-delay: 99999", HOST).delay == 60


def test_a_pattern_of_many_stars_is_matched_at_once() -> None:
    found = read_robots(b"User-agent: *\nDisallow: /" + b"*a" * 200 + b"*b", HOST)
    assert found.allows(f"{HOST}/{'a' * 900}")
    assert not found.allows(f"{HOST}/{'a' * 900}b")


@given(st.binary(max_size=300), st.text(max_size=20))
def test_any_file_is_read(data: bytes, path: str) -> None:
    read_robots(b"User-agent: *\nDisallow: " + data, HOST).allows(f"{HOST}/{path}")
