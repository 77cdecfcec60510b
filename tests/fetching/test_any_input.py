"""Whatever a site or a person gives: it is read or refused, and nothing else."""

from __future__ import annotations

import gzip
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from bythebook.errors import InputError, SourceError
from bythebook.fetching.address import find_address, normalise
from bythebook.fetching.discovery import is_sitemap, read_links, read_sitemap
from bythebook.fetching.web import to_utf8

markup = st.lists(
    st.sampled_from(
        [
            b"<a href=",
            b"'x'>",
            b'<base href="//[">',
            b"<link rel=canonical href=/a>",
            b'<meta http-equiv=refresh content="0;url=b">',
            b'<meta name="robots" content="NONE">',
            b"<html lang=de>",
            b"<title>",
            b"<urlset><url><loc>",
            b"</loc>",
            b"<sitemap>",
            b"\xff\xfe",
            b"\0",
        ]
    )
    | st.binary(max_size=8),
    max_size=12,
).map(b"".join)

addresses = st.lists(
    st.sampled_from(
        "https:// http:// ssh:// git+ git@ .example [ ] :: : / .git # ref= path= & @ % -".split()
    )
    | st.text(max_size=4),
    max_size=8,
).map("".join)


@given(markup)
def test_any_page_is_read(body: bytes) -> None:
    said = read_links(body)
    for link in (*said.links, said.canonical, said.base):
        normalise(link, "https://book.example/docs/")


@given(markup, st.booleans())
def test_any_sitemap_is_read_or_refused(body: bytes, packed: bool) -> None:
    body = gzip.compress(body) if packed else body
    is_sitemap(body)
    with suppress(SourceError):
        assert len(read_sitemap("https://book.example/sitemap.xml", body, 5).pages) <= 5


@given(markup, st.sampled_from(["utf-8", "latin-1", "utf-16", "rot13", "idna", "x", "base64", ""]))
def test_any_encoding_is_kept_or_heeded(body: bytes, charset: str) -> None:
    assert isinstance(to_utf8(body, charset), bytes)


@given(addresses, st.none() | st.text(max_size=5), st.none() | st.text(max_size=5))
def test_any_address_is_found_or_refused(text: str, ref: str | None, path: str | None) -> None:
    with suppress(InputError):
        found = find_address(text, ref, path)
        if found is not None:
            assert find_address(found.text) == found
            assert found.book_id and found.key
