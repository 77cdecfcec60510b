"""One spelling for each address, and a file of its own for each page."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.fetching.address import Scope, is_endless, key_of, normalise
from bythebook.fetching.record import file_name
from bythebook.reading.readers import suffix_of

SCOPE = Scope("https://book.example", "/docs/")


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("HTTPS://Book.Example:443", "https://book.example/"),
        ("http://book.example:80/a#part", "http://book.example/a"),
        ("http://book.example:8080/a", "http://book.example:8080/a"),
        ("https://book.example/a/./b/../c/", "https://book.example/a/c/"),
        ("https://book.example/../../etc/passwd", "https://book.example/etc/passwd"),
        ("https://book.example/%2e%2e/%2E/x", "https://book.example/x"),
        ("https://book.example/a%2fb%7e", "https://book.example/a%2Fb~"),
        ("https://book.example/ü b", "https://book.example/%C3%BC%20b"),
        ("https://book.example/a?utm_source=x&b=2&a=1&fbclid=y", "https://book.example/a?a=1&b=2"),
        ("https://book.example/a?", "https://book.example/a"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://[::1]:443/a", "https://[::1]/a"),
        ("https://book.example./a", "https://book.example/a"),
    ],
)
def test_an_address_has_one_spelling(written: str, spelled: str) -> None:
    assert normalise(written) == spelled
    assert normalise(spelled) == spelled


@pytest.mark.parametrize(
    "written",
    [
        "ftp://book.example/a",
        "javascript:alert(1)",
        "mailto:a@book.example",
        "file:///etc/passwd",
        "https://",
        "https:///a",
        "https://user:secret@book.example/",
        "https://user@book.example/",
        "https://book.example:99999/",
        "https://book.example:0/",
        "https://[::1/",
        "https://book example/",
        "https://book..example/",
        "https://book.example/" + "a" * 1000,
    ],
)
def test_what_is_no_web_address_is_none(written: str) -> None:
    assert normalise(written) is None


def test_links_are_relative_to_their_page() -> None:
    base = "https://book.example/docs/a/"
    assert normalise("../b?x=1#y", base) == "https://book.example/docs/b?x=1"
    assert normalise("//other.example/c", base) == "https://other.example/c"


anything = st.text(max_size=40)
characters = st.text("aAbB.~-_%/?&=#+ü:@\\ \0\t\n*'\"<>|", max_size=30)


@given(path=anything | characters, query=anything | characters)
def test_spelling_again_changes_nothing(path: str, query: str) -> None:
    made = normalise(f"https://Book.Example/{path}?{query}")
    if made is not None:
        assert normalise(made) == made
        assert made.startswith("https://book.example/")
        assert made.isascii() and made.isprintable() and " " not in made and "#" not in made
        assert ".." not in made.partition("?")[0].split("/")


@given(anything | characters)
def test_any_text_is_an_address_or_none(text: str) -> None:
    made = normalise(text, "https://book.example/docs/")
    assert made is None or made.startswith(("http://", "https://"))


segments = st.lists(
    st.sampled_from("a A b index index.html a.html a.htm a.HTML con nul.txt .. . %2e%2e".split())
    | st.text("aAü.%/?=&2Ff~-_ \\", min_size=1, max_size=8)
    | st.text(min_size=1, max_size=200),
    max_size=12,
)


@given(
    first=segments,
    second=segments,
    queries=st.tuples(st.sampled_from(["", "?", "?a", "?A", "?a=1"]), st.sampled_from(["", "?a"])),
)
def test_each_page_has_its_own_file_in_the_folder(
    first: list[str], second: list[str], queries: tuple[str, str]
) -> None:
    urls = [
        taken
        for parts, query in zip((first, second), queries, strict=True)
        if (taken := SCOPE.take("https://book.example/docs/" + "/".join(parts) + query))
    ]
    names = [file_name(SCOPE, url) for url in urls]
    for name in names:
        path = PurePosixPath(name)
        assert not path.is_absolute()
        assert all(part not in ("", ".", "..") for part in name.split("/"))
        assert all(len(part.encode()) <= 100 and part.isprintable() for part in path.parts)
        assert not any(
            part.startswith((".", " ")) or part.endswith((".", " ")) for part in path.parts
        )
        assert not set(name) & set('\\:*?"<>|\0')
        assert suffix_of(name) in (".html", ".htm")
        # No folder can be called as a page is.
        assert not any(part.lower().endswith((".html", ".htm")) for part in path.parts[:-1])
    if len(urls) == 2:
        same_page = key_of(urls[0]) == key_of(urls[1])
        assert same_page == (names[0].lower() == names[1].lower())


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://book.example/docs/", "index.htm"),
        ("https://book.example/docs", "index.htm"),
        ("https://book.example/docs/guide/install/", "guide/install.htm"),
        ("https://book.example/docs/guide/install.html", "guide/install.html"),
        ("https://book.example/docs/v1.2/index.html", "v1.2/index.html"),
        ("https://book.example/docs/con", "_con~446ebb9d17bd3f57.htm"),
    ],
)
def test_names_are_the_address_where_they_can_be(url: str, name: str) -> None:
    assert file_name(SCOPE, url) == name


@pytest.mark.parametrize(
    ("start", "inside", "outside"),
    [
        ("https://a.example/docs/", "https://a.example/docs/x/y?z=1", "https://a.example/docsx"),
        ("https://a.example/docs", "https://a.example/docs/x", "https://a.example/"),
        ("https://a.example/docs/a.html", "https://a.example/docs/b.html", "https://a.example/a"),
        ("https://a.example/", "https://a.example/x", "https://a.example.evil.example/x"),
        ("https://a.example/", "http://a.example/x", "https://a.example:8443/x"),
    ],
)
def test_a_site_is_one_host_below_one_path(start: str, inside: str, outside: str) -> None:
    scope = Scope.around(start)
    assert scope.take(start)
    assert scope.take(inside)
    assert scope.take(outside) is None


def test_addresses_without_end_are_seen() -> None:
    assert is_endless("https://a.example/" + "b/" * 21)
    assert is_endless("https://a.example/x/y/x/y/x/y/x/y")
    assert not is_endless("https://a.example/guide/part/guide/chapter/guide")
