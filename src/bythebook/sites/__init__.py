"""The script tag that puts the widget on a page of a site, and checks of what goes into it."""

from __future__ import annotations

from html import escape
from urllib.parse import urlsplit

from bythebook.errors import InputError

THEMES = ("auto", "light", "dark")
MODES = ("float", "panel")
SERVER = {"field": "server"}
PUBLISHABLE, SECRET = "btbp_", "btb_"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NEW_KEY = "Make one with `bythebook keys create site --publishable --book BOOK --origin SITE`."


def checked_server(given: str) -> str:
    """The address at which `bythebook serve` answers, without a slash at its end."""
    address = given.strip().removesuffix("/widget.js").rstrip("/")
    example = "Give where `bythebook serve` answers, such as https://ask.example.org."
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError as problem:
        raise InputError(f"{given} is not an address.", action=example, details=SERVER) from problem
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(f"{given} is not a web address.", action=example, details=SERVER)
    if parts.query or parts.fragment or parts.username is not None:
        raise InputError(
            f"The address of {host} holds more than scheme, host, port and path.",
            action=example,
            details=SERVER,
        )
    return address


def checked_key(given: str) -> str:
    """A key that may be public. The message does not repeat any other: it may be a secret."""
    key = given.strip()
    if key.startswith(SECRET):
        raise InputError(
            "This key is a secret, and everybody can read what stands in a page.",
            action=f"Revoke it if it was published. {_NEW_KEY}",
        )
    if not key.startswith(PUBLISHABLE) or not key.isascii() or len(key.split()) != 1:
        raise InputError(
            f"This is not a publishable key, which begins with {PUBLISHABLE}.", action=_NEW_KEY
        )
    return key


def check_together(server: str, key: str | None, site: str | None) -> None:
    """A published site needs a key, and a browser loads no http script into an https page."""
    parts = urlsplit(server)
    is_here = parts.hostname in _LOOPBACK
    if not key and not is_here:
        raise InputError(f"{server} can't be asked without a key.", action=_NEW_KEY)
    if site and urlsplit(site).scheme == "https" and parts.scheme == "http" and not is_here:
        raise InputError(
            f"Browsers refuse {server} on the pages of {site}, which come over https.",
            action="Give the service an https address.",
        )


def script_tag(
    server: str,
    *,
    key: str | None = None,
    book: str | None = None,
    title: str | None = None,
    theme: str | None = None,
    mode: str | None = None,
) -> str:
    """The tag that docs/guides/widget.md tells people to write."""
    given = {"book": book, "key": key, "title": title, "theme": theme, "mode": mode}
    data = "".join(f' data-{name}="{escape(value)}"' for name, value in given.items() if value)
    return f'<script src="{escape(server)}/widget.js"{data} async></script>'
