"""Pages of a site that only repeat another."""

from __future__ import annotations

from bythebook.fetching.record import Record
from bythebook.fetching.urls import key_of


def mark_repeats(record: Record) -> None:
    """The first of several with the same content counts; and a page that names another as the
    canonical one gives way to it, if that one is there and does not itself give way."""
    first: dict[str, str] = {}
    for page in record.pages.values():
        original = first.setdefault(page.hash, page.url)
        page.instead = "" if original == page.url else original
    start = key_of(record.start)
    for key, page in record.pages.items():
        wanted = key_of(page.canonical)
        target = record.pages.get(wanted)
        if page.instead or not page.canonical or wanted == key or not target or target.instead:
            continue
        # Sites that name their start page as the canonical one of every page are wrong.
        if wanted == start and key.partition("?")[0] != start.partition("?")[0]:
            continue
        page.instead = target.url
