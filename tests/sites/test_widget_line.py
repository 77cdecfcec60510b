"""What a site's plug-in may write into a page."""

from __future__ import annotations

import pytest

from bythebook.errors import InputError
from bythebook.sites import check_together, checked_key, checked_server, script_tag

HOME = "https://ask.example.org"
KEY = "btbp_0123456789ab_secret"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        (HOME, HOME),
        (f"{HOME}/", HOME),
        (f" {HOME}/widget.js ", HOME),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("https://example.org/ask/", "https://example.org/ask"),
    ],
)
def test_an_address_may_be_written_in_several_ways(given: str, used: str) -> None:
    assert checked_server(given) == used


@pytest.mark.parametrize(
    "given",
    [
        "",
        "ask.example.org",
        "ftp://ask.example.org",
        "https://",
        "javascript:alert(1)",
        "https://me:word@ask.example.org",
        "https://ask.example.org/?a=b",
        "https://ask.example.org:http",
        "https://[ask",
    ],
)
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(InputError, match=r"https://ask\.example\.org"):
        checked_server(given)


def test_a_secret_key_is_refused_and_not_repeated() -> None:
    with pytest.raises(InputError, match="secret") as refused:
        checked_key("btb_0123456789ab_dontsayit")
    assert "dontsayit" not in str(refused.value)
    assert checked_key(f" {KEY}\n") == KEY
    for given in ("", "sk-123", "btbp_one two"):
        with pytest.raises(InputError, match="btbp_"):
            checked_key(given)


def test_a_published_site_needs_a_key_and_https() -> None:
    check_together(HOME, KEY, "https://docs.example.org/")
    check_together("http://localhost:8000", None, "https://docs.example.org/")
    check_together("http://ask.intern", KEY, "http://docs.intern/")
    with pytest.raises(InputError, match="without a key"):
        check_together(HOME, None, None)
    with pytest.raises(InputError, match="https"):
        check_together("http://ask.example.org", KEY, "https://docs.example.org/")


def test_nothing_given_leaves_its_attribute() -> None:
    title = 'Ask "us" <now>'
    assert script_tag(HOME, key=KEY, title=title) == (
        f'<script src="{HOME}/widget.js" data-key="{KEY}"'
        ' data-title="Ask &quot;us&quot; &lt;now&gt;" async></script>'
    )
