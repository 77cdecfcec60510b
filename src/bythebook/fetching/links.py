"""What a page says of itself and of others."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bythebook.fetching.robots import NAME
from bythebook.reading.readers.html import language_of, title_of
from bythebook.reading.readers.tokens import decoded, tokens
from bythebook.reading.readers.writer import language_code

MAX_LINKS = 5_000
NAMING = frozenset({"a", "area", "base", "frame", "link", "meta"})
# Pages that only send the reader on to another one.
REFRESH = re.compile(r"\d*\s*[;,]\s*url\s*=\s*['\"]?([^'\"]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Said:
    """Links as they stand there, relative to `base` if it has one."""

    links: tuple[str, ...] = ()
    base: str = ""
    canonical: str = ""
    title: str = ""
    site: str = ""
    language: str | None = None
    not_wanted: bool = False
    not_followed: bool = False


def read_links(body: bytes) -> Said:
    found = list(tokens(decoded(body)))
    links: dict[str, None] = {}
    base = canonical = site = ""
    rules: set[str] = set()
    for token in found:
        if token.kind != "open" or token.name not in NAMING:
            continue
        attributes = token.attributes()
        address = attributes.get("src" if token.name == "frame" else "href", "").strip()
        if token.name == "meta" and attributes.get("http-equiv", "").lower() == "refresh":
            sent = REFRESH.match(attributes.get("content", "").strip())
            links |= {sent[1].strip(): None} if sent else {}
        if token.name == "base":
            base = base or address
        elif token.name == "link":
            if "canonical" in attributes.get("rel", "").lower().split():
                canonical = canonical or address
        elif token.name == "meta":
            if attributes.get("property") == "og:site_name":
                site = attributes.get("content", "").strip()
            if attributes.get("name", "").lower() in ("robots", NAME):
                rules |= set(attributes.get("content", "").lower().replace(",", " ").split())
        elif address and not address.startswith("#") and len(links) < MAX_LINKS:
            links[address] = None
    return Said(
        links=tuple(links),
        base=base,
        canonical=canonical,
        title=title_of(found),
        site=" ".join(site.split()),
        language=language_code(language_of(found)),
        not_wanted=bool(rules & {"noindex", "none"}),
        not_followed=bool(rules & {"nofollow", "none"}),
    )
