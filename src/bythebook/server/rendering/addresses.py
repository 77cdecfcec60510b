"""Which addresses in a book's text become links."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

SCHEMES = frozenset({"http", "https", "mailto"})
SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*)\s*:", re.IGNORECASE)


def address(written: str, page: str, *, is_image: bool = False) -> str | None:
    """The address to go to; None where there is none that is safe and leads somewhere. What is
    relative is meant from `page`, the address at which the text is published."""
    scheme = SCHEME.match(written)
    if scheme:
        return written if scheme[1].lower() in SCHEMES else None
    try:
        is_web_page = urlsplit(page).scheme in ("http", "https")
        path = urlsplit(written).path
        target = urljoin(page, written)
    except ValueError:  # not an address at all
        return None
    # Where a source file or a picture beside it is published, only the book's own site knows.
    beside = is_image and not written.startswith("/")
    if not is_web_page or not written or beside or path.lower().endswith((".md", ".mdx")):
        return None
    return target
