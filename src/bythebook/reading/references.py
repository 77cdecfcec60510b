"""References to other places of a book show the titles of what they lead to.

A reader marks them, since only the layout of the whole book knows the titles: each page's head says
which labels it has and to which it refers, and its placement what those are called. A page whose
labels changed therefore changes the placements of the pages that refer to it, and they are read
again.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from bythebook.reading.contents import Pages
from bythebook.reading.metadata import Head
from bythebook.reading.readers import Converted
from bythebook.reading.reference_marks import HALF_MARK, MARK, MARKS

Read = TypeVar("Read", bound=Converted)


def with_titles(source: Read, titles: Mapping[str, str]) -> Read:
    """The text with what its references are called. One that leads nowhere shows its target."""
    if MARKS[0] not in source.text and MARKS[1] not in source.text:
        return source
    pieces: list[str] = []
    ends: list[int] = []
    shifts: list[int] = [0]
    position = 0
    for found in MARK.finditer(source.text):
        kind, _, target = found[1].partition(":")
        title = titles.get(found[1]) or (target.lstrip("#") if kind == "any" else target)
        pieces += [source.text[position : found.start()], title]
        position = found.end()
        ends.append(position)
        shifts.append(shifts[-1] + len(title) - len(found[0]))
    pieces.append(source.text[position:])
    places = tuple(
        replace(place, start=place.start + shifts[bisect_right(ends, place.start)])
        for place in source.places
    )
    # Half a mark: its cell or heading was cut short.
    text = HALF_MARK.sub(lambda half: " " * len(half[0]), "".join(pieces))
    return replace(source, text=text, places=places)


def titles_of_references(
    heads: Mapping[str, Head], titles: Mapping[str, str], order: Sequence[str]
) -> dict[str, dict[str, str]]:
    """For each page that refers to others, what its references are called. The first page in
    reading order that has a label owns it."""
    if not any(heads[file].references for file in order):
        return {}
    labels: dict[str, str] = {}
    for file in order:
        for title, label in heads[file].labels:
            labels.setdefault(label, title)
    names = {file: heads[file].heading or titles[file] for file in order}
    pages = Pages(order)
    found: dict[str, dict[str, str]] = {}
    for file in order:
        folder = posixpath.dirname(file)
        called = {
            reference: _title(reference, folder, labels, pages, names)
            for reference in heads[file].references
        }
        if shown := {reference: title for reference, title in called.items() if title}:
            found[file] = shown
    return found


def _title(
    reference: str, folder: str, labels: Mapping[str, str], pages: Pages, names: Mapping[str, str]
) -> str | None:
    kind, _, target = reference.partition(":")
    label = re.sub(r"^(?:project:)?#?", "", target).lower()
    if kind in ("ref", "any") and label in labels:
        return labels[label]
    if kind in ("doc", "any") and (page := pages.named(target, folder)):
        return names[page]
    # Sphinx' autosectionlabel: `page:Title of a section`.
    before, colon, title = target.partition(":")
    if kind == "ref" and colon and pages.named(f"/{before}"):
        return title.strip()
    return None
