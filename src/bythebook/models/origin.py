"""The origin of a web page: its scheme, host and port."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from bythebook.errors import InputError

DEFAULT_PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?|[0-9a-f:.]{2,45}")


def checked_origin(origin: str) -> str:
    """An origin as browsers send it: small letters, no default port, no path."""
    text = origin.strip().lower().removesuffix("/")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    named = f"[{host}]" if ":" in host else host
    shown = f"{parts.scheme}://{named}"
    if port is not None and port != DEFAULT_PORTS.get(parts.scheme):
        shown += f":{port}"
    is_whole = text in (shown, f"{parts.scheme}://{named}:{port}")
    if parts.scheme not in DEFAULT_PORTS or not HOST.fullmatch(host) or not is_whole:
        raise InputError(
            f"{origin!r} is no site's origin.",
            action="Give scheme, host and any port, such as https://book.example.org; "
            "names with other letters in their xn-- form.",
            details={"field": "origin"},
        )
    return shown
