"""Each page's module, chapter, lesson and address: from path, front matter and manifest."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import yaml

from bythebook.models.chunk import lesson_key
from bythebook.reading.contents import page_titles
from bythebook.reading.layout import Book
from bythebook.reading.metadata import Head, load_yaml
from bythebook.reading.readers import suffix_of
from bythebook.reading.slugs import (
    MAX_HEADING,
    Flavor,
    chapter_and_lesson,
    humanise,
    is_index,
    natural_key,
    own_number,
    plain_heading,
    says_chapter,
    without_docusaurus_prefix,
    without_number,
)


def page_address(base_url: str, flavor: Flavor, source_file: str, head: Head) -> str:
    """Without a base URL the address begins at the site's root."""
    path = _path(flavor, source_file, head)
    return f"{base_url.rstrip('/')}/{quote(path.lstrip('/'), safe='/~:@!$&()*+,;=')}"


def with_anchor(address: str, anchor: str) -> str:
    return f"{address}#{quote(anchor, safe='~:@!$&()*+,;=/?')}" if anchor else address


def _path(flavor: Flavor, source_file: str, head: Head) -> str:
    if suffix_of(source_file):  # no tool makes another page of it
        return source_file
    folder, name = posixpath.split(source_file)
    stem = name.rpartition(".")[0]
    if flavor == "mdn" and head.slug:
        return head.slug
    if flavor == "docusaurus":
        return _docusaurus(folder, stem, head)
    if flavor == "mdbook":
        return posixpath.join(folder, f"{'index' if stem.lower() == 'readme' else stem}.html")
    if flavor == "mkdocs":
        page = folder if is_index(stem) else posixpath.join(folder, stem)
        return f"{page}/" if page else ""
    return source_file


def _docusaurus(folder: str, stem: str, head: Head) -> str:
    folders = [part for part in folder.split("/") if part]
    parts = [without_docusaurus_prefix(part) for part in folders]
    if head.slug:
        return posixpath.normpath(posixpath.join("/", *parts, head.slug))
    # Unlike the address, this comparison keeps the number prefixes.
    if stem.lower() in ("index", "readme", *(part.lower() for part in folders[-1:])):
        return "/".join(parts)
    return "/".join([*parts, head.id or without_docusaurus_prefix(stem)])


# Partials inside partials.
DEEPEST_PARTIAL = 3


@dataclass(frozen=True)
class Placement:
    """Where a page stands. `numbered` says that its lesson number is its own, not from order."""

    module: str
    chapter: int
    lesson: int
    title: str
    chapter_title: str
    url: str
    slug: str
    numbered: bool = True
    collides: bool = False

    def chunk_key(self, book_id: str) -> str:
        slug = self.slug if self.collides else ""
        return lesson_key(book_id, self.module, self.chapter, self.lesson, slug)

    def parent_key(self, book_id: str) -> str:
        slug = self.slug if self.collides or not self.numbered else ""
        return lesson_key(book_id, self.module, self.chapter, self.lesson, slug)

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))  # none of its fields has fields of its own


@dataclass(frozen=True)
class _Spot:
    """A page's place before the numbers from order are handed out."""

    file: str
    module: str
    chapter_folder: str | None
    chapter: int | None
    lesson: int | None


def place_pages(book: Book, heads: Mapping[str, Head]) -> dict[str, Placement]:
    """Placements in reading order. The same files with the same heads always give the same."""
    order = _order(book, heads)
    spots = _from_contents(book) if book.contents else [_from_path(book, file) for file in order]
    spots = [_with_head(spot, heads[spot.file], book) for spot in spots]
    chapters = _number_chapters(spots)
    lessons = _number_lessons(spots, chapters)
    titles = _titles(book, heads, order)
    chapter_titles = _chapter_titles(spots, chapters, lessons, titles)
    slugs = _slugs(order)
    addresses = _addresses(book, heads, order)
    placements: dict[str, Placement] = {}
    taken: set[tuple[str, int, int]] = set()
    for spot in spots:
        key = (spot.module, chapters[spot.file], lessons[spot.file])
        placements[spot.file] = Placement(
            module=spot.module,
            chapter=key[1],
            lesson=key[2],
            title=titles[spot.file],
            chapter_title=chapter_titles.get(key[:2], titles[spot.file]),
            url=addresses[spot.file],
            slug=slugs[spot.file],
            numbered=spot.lesson is not None,
            collides=key in taken,
        )
        taken.add(key)
    return placements


def _titles(book: Book, heads: Mapping[str, Head], order: list[str]) -> dict[str, str]:
    """A page's own title, else what the contents call it, its first heading, its file's name."""
    listed = {**page_titles({file: heads[file].contents for file in order}), **book.titles}
    return {
        file: heads[file].title
        or plain_heading(listed.get(file, ""))[:MAX_HEADING]
        or heads[file].heading
        or humanise(_title_name(file, book))
        for file in order
    }


def _title_name(file: str, book: Book) -> str:
    folder, name = posixpath.split(file)
    stem = name.rpartition(".")[0]
    return (posixpath.basename(folder) or book.title) if is_index(stem) else stem


def _order(book: Book, heads: Mapping[str, Head]) -> list[str]:
    if book.contents:
        return [entry.source_file for entry in book.contents]
    listed = {file: rank for rank, file in enumerate(book.nav)}
    positions = _folder_positions(book)

    def key(file: str) -> tuple[Any, ...]:
        parts = file.split("/")
        folders = [
            (0, positions.get("/".join(parts[: i + 1]), float("inf")), natural_key(part))
            for i, part in enumerate(parts[:-1])
        ]
        position = heads[file].position
        index = is_index(parts[-1].rpartition(".")[0])
        own = -1.0 if index else float("inf") if position is None else position
        # Pages of a folder come before its sub-folders, its index first.
        return (listed.get(file, len(listed)), [*folders, (-1, own, natural_key(parts[-1]))])

    return sorted(book.files, key=key)


def _folder_positions(book: Book) -> dict[str, float]:
    """Docusaurus keeps a folder's place in `_category_.json` or `_category_.yml`."""
    positions: dict[str, float] = {}
    if book.flavor != "docusaurus":
        return positions
    folders = {parent.as_posix() for file in book.files for parent in PurePosixPath(file).parents}
    for folder in folders:
        for name in ("_category_.json", "_category_.yml", "_category_.yaml"):
            category = book.root / folder / name
            if not category.is_file():
                continue
            try:
                load = json.loads if name.endswith("json") else load_yaml
                position = load(category.read_text(encoding="utf-8")).get("position")
            except (yaml.YAMLError, ValueError, AttributeError, RecursionError, OSError):
                continue
            if isinstance(position, int | float) and position == position:
                positions[folder] = position
                break
    return positions


def _from_contents(book: Book) -> list[_Spot]:
    """mdBook: a numbered entry is a chapter, what is nested below it are its lessons."""
    spots: list[_Spot] = []
    chapter = 0
    for entry in book.contents:
        module = _module_slug(entry.part) if entry.part else book.book_id
        if entry.depth == 0:
            chapter += 1
        folder = str(chapter) if entry.depth >= 0 else None
        own = 0 if entry.depth == 0 else None
        number = chapter if entry.depth >= 0 else 0
        spots.append(_Spot(entry.source_file, module, folder, number, own))
    return spots


def _module_slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name.strip().lower()).strip("-") or name


def _from_path(book: Book, file: str) -> _Spot:
    *folders, name = file.split("/")
    stem = name.rpartition(".")[0]
    module = _module_slug(without_number(folders[0])) if folders else book.book_id
    if len(folders) >= 2:
        chapter = own_number(folders[1])
        lesson = None
        if len(folders) == 2:
            lesson = 0 if is_index(stem) else own_number(stem)
        return _Spot(file, module, folders[1], chapter, lesson)
    if both := chapter_and_lesson(stem):
        return _Spot(file, module, None, *both)
    if is_index(stem):
        return _Spot(file, module, None, 0, 0)
    if says_chapter(stem):
        return _Spot(file, module, stem, own_number(stem), 0)
    return _Spot(file, module, None, 0, own_number(stem))


def _with_head(spot: _Spot, head: Head, book: Book) -> _Spot:
    """Front matter overrides the path; the manifest's folder names override both."""
    folders = map(str, PurePosixPath(spot.file).parents[:-1])
    named = (book.manifest.modules[name] for name in folders if name in book.manifest.modules)
    return replace(
        spot,
        module=next(named, head.module or spot.module),
        chapter=spot.chapter if head.chapter is None else head.chapter,
        lesson=spot.lesson if head.lesson is None else head.lesson,
    )


def _number_chapters(spots: list[_Spot]) -> dict[str, int]:
    """A chapter folder without a number gets the next free one of its module."""
    free = _FreeNumbers((spot.module, spot.chapter) for spot in spots)
    given: dict[tuple[str, str | None], int] = {}
    numbers: dict[str, int] = {}
    for spot in spots:
        key = (spot.module, spot.chapter_folder)
        if spot.chapter is None and key not in given:
            given[key] = free.next(spot.module)
        numbers[spot.file] = given[key] if spot.chapter is None else spot.chapter
    return numbers


def _number_lessons(spots: list[_Spot], chapters: dict[str, int]) -> dict[str, int]:
    """A page without a number gets the next free one of its chapter; 0 is the overview's."""
    keys = {spot.file: (spot.module, chapters[spot.file]) for spot in spots}
    free = _FreeNumbers((keys[spot.file], spot.lesson) for spot in spots)
    return {
        spot.file: free.next(keys[spot.file]) if spot.lesson is None else spot.lesson
        for spot in spots
    }


class _FreeNumbers:
    """Hands out 1, 2, 3 … for each key, leaving out those that are taken."""

    def __init__(self, taken: Iterable[tuple[Hashable, int | None]]) -> None:
        self.taken = set(taken)
        self.counters: dict[Hashable, Iterator[int]] = {}

    def next(self, key: Hashable) -> int:
        counter = self.counters.setdefault(key, count(1))
        return next(number for number in counter if (key, number) not in self.taken)


def _chapter_titles(
    spots: list[_Spot],
    chapters: dict[str, int],
    lessons: dict[str, int],
    titles: dict[str, str],
) -> dict[tuple[str, int], str]:
    """The overview's title, else the folder's name; a page outside any chapter is its own."""
    found: dict[tuple[str, int], str] = {}
    for spot in spots:
        key = (spot.module, chapters[spot.file])
        if lessons[spot.file] == 0 and spot.lesson == 0:
            found[key] = titles[spot.file]
        elif spot.chapter_folder and not spot.chapter_folder.isdecimal():
            found.setdefault(key, humanise(spot.chapter_folder))
    return found


def _slugs(files: list[str]) -> dict[str, str]:
    """The path without its ending, unless two files differ in nothing else."""
    counts = Counter(file.rpartition(".")[0] for file in files)
    return {file: slug if counts[slug := file.rpartition(".")[0]] == 1 else file for file in files}


def _addresses(book: Book, heads: Mapping[str, Head], order: list[str]) -> dict[str, str]:
    """A partial has no page of its own: it is read on the first page that includes it."""
    shown_on: dict[str, str] = {}
    for file in order:
        for target in heads[file].imports:
            partial = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
            shown_on.setdefault(partial, file)
    for partial in shown_on:  # one may be part of another
        for _ in range(DEEPEST_PARTIAL):
            shown_on[partial] = shown_on.get(shown_on[partial], shown_on[partial])
    addresses: dict[str, str] = {}
    for file in order:
        shown = shown_on.get(file, file)
        addresses[file] = book.addresses.get(shown) or page_address(
            book.base_url, book.flavor, shown, heads[shown]
        )
    return addresses
