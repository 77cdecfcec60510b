"""How a person finds a passage in its book."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bythebook.models.chunk import DocumentMetadata

NO_TITLES: Mapping[str, str] = MappingProxyType({})


def label_of(place: DocumentMetadata, offset: int | None = None) -> str:
    """How a person names the place of a passage, or of a character in it: page, then section. In a
    file that is a whole book, the chapter stands between them."""
    section = place.section_title if offset is None else place.section_at(offset)
    headings = place.heading_path if offset is None else place.headings_at(offset)
    has_chapters = place.chapter_title in place.heading_path[1:2]
    chapter = headings[1] if has_chapters and len(headings) > 1 else None
    return " › ".join(dict.fromkeys(filter(None, (place.title, chapter, section))))


def path_of(place: DocumentMetadata, modules: Mapping[str, str] = NO_TITLES) -> list[str]:
    """Module, chapter, page and headings down to the passage, each name once. `modules` has the
    titles of modules; one without a title is left out."""
    names = [
        modules.get(place.module),
        place.chapter_title,
        place.title,
        *place.heading_path,
        place.section_title,
    ]
    path: dict[str, str] = {}
    for name in names:
        if name:
            path.setdefault(name.casefold(), name)
    return list(path.values())
