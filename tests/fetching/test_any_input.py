"""Whatever a site or a person gives: it is read or refused, and nothing else."""

from __future__ import annotations

import gzip
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.errors import InputError, SourceError
from bythebook.fetching.address import find_address, normalise
from bythebook.fetching.discovery import is_sitemap, read_links, read_sitemap
from bythebook.fetching.web import to_utf8
from bythebook.reading.readers.markup_tokens import decoded

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


TRICK = b"<p>A page of +AGEA- and \\u0041 for xn--bcher-kva</p>"


@pytest.mark.parametrize(
    ("charset", "body"),
    [
        ("punycode", b"<p>A page</p>-egbpdaj6bu4bxfgehfvwxn"),
        ("PunyCode", b"<p>A page</p>-egbpdaj6bu4bxfgehfvwxn"),
        ("idna", b"xn--bcher-kva"),
        ("unicode_escape", TRICK),
        ("raw-unicode-escape", TRICK),
        ("utf-7", TRICK),
        ("U7", TRICK),
    ],
)
def test_what_no_browser_takes_for_an_encoding_is_none_here(charset: str, body: bytes) -> None:
    """Punycode takes hours for a page, and all of them make another text of it."""
    assert to_utf8(body, charset) == body
    named = b'<meta charset="' + charset.encode() + b'">' + body
    assert decoded(named) == named.decode()
    declared = b'<?xml version="1.0" encoding="' + charset.encode() + b'"?>' + body
    assert decoded(declared) == declared.decode()


@pytest.mark.parametrize("charset", ["x" * 41, "é", "\0", "base64", "zip", "a.b", "../utf_8"])
def test_no_encoding_is_none(charset: str) -> None:
    assert to_utf8(TRICK, charset) == TRICK


def test_a_page_of_a_few_megabytes_is_read_whatever_its_encoding_is_called() -> None:
    body = b"a" * 2_000_000 + b"-" + b"a" * 2_000_000
    assert to_utf8(body, "punycode") == body


@pytest.mark.parametrize(
    "written",
    [
        "https://book.example/" + "a/" * 2_000_000 + "../" * 2_000_000,
        "https://" + "ü." * 2_000_000 + "example/",
        "https://" + "ü." * 200 + "example/",
        "https://book.example/?" + "%41" * 2_000_000,
    ],
    ids=["steps back", "names", "names up to the limit of a link", "escapes"],
)
def test_a_link_of_megabytes_leads_nowhere(written: str) -> None:
    """The first takes hours where each step back copies what is before it."""
    assert normalise(written) is None
    assert normalise(written, "https://book.example/docs/") is None


def test_many_steps_back_are_followed() -> None:
    assert (
        normalise(f"https://book.example/{'a/' * 3000}{'../' * 3000}b") == "https://book.example/b"
    )
