"""robots.txt (RFC 9309): what a site asks programs to leave alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bythebook.fetching.urls import normalise

if TYPE_CHECKING:
    from protego import Protego

NAME = "bythebook"
MAX_BYTES = 500_000
LONGEST_DELAY = 60.0


@dataclass(frozen=True)
class Robots:
    """The rules for this program, its pause between requests, and the sitemaps of the site."""

    rules: Protego | None = None
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        return self.rules is None or self.rules.can_fetch(url, NAME)


def read_robots(data: bytes, base: str) -> Robots:
    """Rules for this program by its name, else those for everybody."""
    from protego import Protego

    rules = Protego.parse(data[:MAX_BYTES].decode("utf-8-sig", "replace"))
    sitemaps = (normalise(url, base) for url in rules.sitemaps)
    return Robots(
        rules=rules,
        delay=min(rules.crawl_delay(NAME) or 0.0, LONGEST_DELAY),
        sitemaps=tuple(dict.fromkeys(url for url in sitemaps if url)),
    )
