"""Finding a book in a folder: which tool made it, where its pages are, in what order."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from bythebook.errors import InputError
from bythebook.models.values import check_book_id
from bythebook.reading.contents import file_titles, nav_titles
from bythebook.reading.metadata import (
    MANIFEST,
    UNREADABLE,
    Manifest,
    first_line,
    load_toml,
    load_yaml,
    read_manifest,
)
from bythebook.reading.readers import FORMATS
from bythebook.reading.slugs import Flavor, humanise

MARKDOWN_SUFFIXES = (".md", ".mdx", ".markdown")
PAGE_SUFFIXES = (*MARKDOWN_SUFFIXES, *FORMATS)
IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
GENERIC_FOLDERS = frozenset({"docs", "doc", "src", "content", "book", "pages", "files"})
SUMMARY = "SUMMARY.md"
SUMMARY_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<item>[-*+][ \t]+)?\[(?P<title>.*?)\]"
    r"\(<?(?P<link>(?:(?!\]\()[^)<>\n])++)>?\)",
    re.M,
)
SUMMARY_PART = re.compile(r"^#[ \t]++(?P<title>.+)$", re.M)


@dataclass(frozen=True)
class Entry:
    """A line of mdBook's table of contents; `depth` is -1 for one outside the numbered list."""

    source_file: str
    depth: int
    part: str | None
    title: str


@dataclass(frozen=True)
class Book:
    """A book on disk. `root` is the folder that paths of pages are relative to, `top` the one that
    all files it may include are in. `titles` are those that a table of contents gives to pages,
    `addresses` those of pages that have one already. `removed` are the files that have gone, if it
    is known that others are only not here at present."""

    book_id: str
    title: str
    root: Path
    top: Path
    flavor: Flavor
    base_url: str
    language: str
    manifest: Manifest
    files: tuple[str, ...]
    contents: tuple[Entry, ...] = ()
    nav: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)
    removed: frozenset[str] | None = None

    def without_pages(self) -> Book:
        """What is true of each of them, which is all that reading one takes."""
        return replace(
            self, files=(), contents=(), nav=(), titles={}, problems=(), addresses={}, removed=None
        )


def find_book(path: Path, book_id: str | None = None) -> Book:
    """Look at a folder, which must hold at least one page, or at a file that is the book."""
    if not os.path.exists(path):  # noqa: PTH110 - Path.exists raises on names that are too long
        raise InputError(f"There is no folder {path}.", action="Check the path of the book.")
    top = path.resolve()
    if not top.is_dir():
        return _single_file(top, book_id)
    manifest = read_manifest(top)
    config = _site_config(top)
    root = _pages_folder(top, manifest, config)
    files, problems = _find_pages(root)
    flavor = manifest.book.flavor or _guess_flavor(top, root, config, files)
    contents: tuple[Entry, ...] = ()
    if flavor == "mdbook" and SUMMARY in files:
        contents = tuple(_read_summary(root, files))
        listed = {entry.source_file for entry in contents}
        unlisted = [file for file in files if file not in listed and file != SUMMARY]
        problems += [
            f"{file} is not in {SUMMARY}, so mdBook does not publish it" for file in unlisted
        ]
        files = [file for file in files if file in listed]
    if flavor != "plain":  # such a tool makes pages of Markdown only
        files = [file for file in files if file.lower().endswith(MARKDOWN_SUFFIXES)]
    folders = dict.fromkeys((root, top, config.get("folder", top)))
    titles, unreadable = file_titles(folders, files)
    titles |= {entry.source_file: entry.title for entry in contents}
    if not files:
        raise InputError(
            f"There are no pages of a book in {path}.",
            action=f"Give a folder with {', '.join(PAGE_SUFFIXES)} files.",
        )
    return Book(
        book_id=check_book_id(book_id or manifest.book.id or _name_of(top)),
        title=manifest.book.title or config.get("title") or humanise(_folder_name(top)),
        root=root,
        top=config.get("folder", top),
        flavor=flavor,
        base_url=manifest.book.base_url or config.get("base_url") or "",
        language=manifest.book.language,
        manifest=manifest,
        files=tuple(files),
        contents=contents,
        nav=tuple(config.get("nav", ())),
        titles={**config.get("titles", {}), **titles},
        problems=(*problems, *unreadable),
    )


def _single_file(file: Path, book_id: str | None) -> Book:
    """A PDF, say, that is a whole book."""
    if not file.is_file() or not file.name.lower().endswith(PAGE_SUFFIXES):
        raise InputError(
            f"{file} is neither a folder nor a file that can be read.",
            action=f"Give a folder, or a file of one of these kinds: {', '.join(PAGE_SUFFIXES)}.",
        )
    return Book(
        book_id=check_book_id(book_id or _slug(file.stem)),
        title=humanise(file.stem),
        root=file.parent,
        top=file.parent,
        flavor="plain",
        base_url="",
        language=Manifest().book.language,
        manifest=Manifest(),
        files=(file.name,),
    )


def _folder_name(top: Path) -> str:
    while top.name.lower() in GENERIC_FOLDERS and top.parent.name:
        top = top.parent
    return top.name or "book"


def _name_of(top: Path) -> str:
    return _slug(_folder_name(top))


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:100] or "book"


def _site_config(top: Path) -> dict[str, Any]:
    """What mdBook's and MkDocs' own configuration says, of the folder or the one above it."""
    for folder in (top, top.parent):
        if (folder / "book.toml").is_file():
            return {"flavor": "mdbook", "folder": folder, **_mdbook_config(folder / "book.toml")}
        for name in ("mkdocs.yml", "mkdocs.yaml"):
            if (folder / name).is_file():
                return {"flavor": "mkdocs", "folder": folder, **_mkdocs_config(folder / name)}
        if any(folder.glob("docusaurus.config.*")):
            return {"flavor": "docusaurus", "folder": folder, "pages": "docs"}
    return {}


def _mdbook_config(file: Path) -> dict[str, Any]:
    try:
        book = load_toml(file.read_text(encoding="utf-8")).get("book")
    except (ValueError, OSError) as problem:
        raise InputError(
            f"{file.name} can't be read: {problem}.", action="Correct it."
        ) from problem
    book = book if isinstance(book, dict) else {}
    return {"title": _text(book.get("title")), "pages": _text(book.get("src")) or "src"}


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


class _LenientLoader(yaml.SafeLoader):
    """MkDocs files name Python objects (`!!python/name:…`); their value is of no interest here."""


_LenientLoader.add_multi_constructor("", lambda _loader, _suffix, _node: None)


def _mkdocs_config(file: Path) -> dict[str, Any]:
    try:
        values = load_yaml(file.read_text(encoding="utf-8"), _LenientLoader)
    except (*UNREADABLE, OSError) as problem:
        raise InputError(
            f"{file.name} can't be read: {first_line(problem)}.", action="Correct it."
        ) from problem
    values = values if isinstance(values, dict) else {}
    return {
        "title": _text(values.get("site_name")),
        "base_url": _text(values.get("site_url")),
        "pages": _text(values.get("docs_dir")) or "docs",
        "nav": _nav_files(values.get("nav")),
        "titles": nav_titles(values.get("nav")),
    }


def _nav_files(nav: Any) -> list[str]:
    """In their order. Each part is looked at once: YAML may name the same one in many places."""
    files: list[str] = []
    waiting, seen = [nav], set[int]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            files.append(part)
        elif isinstance(part, dict | list) and id(part) not in seen:
            seen.add(id(part))
            waiting += reversed(list(part.values()) if isinstance(part, dict) else part)
    return files


def _pages_folder(top: Path, manifest: Manifest, config: dict[str, Any]) -> Path:
    if manifest.book.docs:
        root = (top / manifest.book.docs).resolve()
        if not _is_folder(root) or not root.is_relative_to(top):
            raise InputError(
                f"{MANIFEST} names the folder {manifest.book.docs!r}, which is not in the book.",
                action=f"Correct docs in {top / MANIFEST}.",
            )
        return root
    if config.get("folder") != top or not _is_folder(top / str(config["pages"])):
        return top
    root = (top / str(config["pages"])).resolve()
    if not root.is_relative_to(top):  # whoever writes a book must not read other folders with it
        raise InputError(
            f"The book's configuration names the folder {config['pages']!r}, which is not in the "
            "book.",
            action=f"Give the pages' own folder instead of {top}.",
        )
    return root


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises on names that are too long


def _find_pages(root: Path) -> tuple[list[str], list[str]]:
    """Pages in path order. Folder links are not followed, so that circles can't happen; a file
    link counts only when it leads to a file of the book."""
    files: list[str] = []
    problems: list[str] = []
    unvisited = [""]
    while unvisited:
        inside = unvisited.pop()
        try:
            with os.scandir(root / inside) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as problem:
            problems.append(f"{inside or root} can't be read: {problem.strerror}")
            continue
        folders: list[str] = []
        for entry in entries:
            path = f"{inside}/{entry.name}" if inside else entry.name
            if entry.name.startswith(".") or entry.name in IGNORED_FOLDERS:
                continue
            link = Path(entry.path) if entry.is_symlink() else None
            if link and link.is_dir():
                problems.append(f"{path} is a link to a folder and was not followed")
            elif entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif entry.name.lower().endswith(PAGE_SUFFIXES):
                if path != path.encode("utf-8", "ignore").decode("utf-8"):
                    problems.append(f"{path!r} has a name that is not UTF-8 and was skipped")
                elif link and not _leads_into(link, root):
                    problems.append(f"{path} is a link that leads out of the book, or to nothing")
                elif not entry.is_file():
                    problems.append(f"{path} is a pipe, socket or device and was skipped")
                else:
                    files.append(path)
        unvisited += reversed(folders)
    return files, problems


def _leads_into(link: Path, root: Path) -> bool:
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    return target.is_file() and target.is_relative_to(root)


def _guess_flavor(top: Path, root: Path, config: dict[str, Any], files: Sequence[str]) -> Flavor:
    if config:
        flavor: Flavor = config["flavor"]
        return flavor
    if SUMMARY in files:
        return "mdbook"
    if any(file.endswith(".mdx") for file in files):
        return "docusaurus"
    for file in files[:3]:
        with suppress(OSError), (root / file).open("rb") as opened:  # whoever reads it says why
            if re.search(rb"^page-type: ", opened.read(2000), re.M):
                return "mdn"
    return "plain"


def _read_summary(root: Path, files: Sequence[str]) -> list[Entry]:
    """mdBook's order; what SUMMARY.md does not list is not part of the book."""
    try:
        text = (root / SUMMARY).read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise InputError(
            f"{SUMMARY} can't be read: {problem.strerror}.",
            action="Check the file and its permissions.",
        ) from problem
    known = set(files)
    parts = [(found.start(), found["title"].rstrip(" \t")) for found in SUMMARY_PART.finditer(text)]
    first = SUMMARY_LINE.search(text)
    if parts and (not first or parts[0][0] < first.start()):  # the title of the summary itself
        parts.pop(0)
    entries: list[Entry] = []
    indents: list[int] = []
    seen: set[str] = set()
    for found in SUMMARY_LINE.finditer(text):
        link = os.path.normpath(unquote(found["link"].partition("#")[0].strip()))
        if link not in known or link in seen:
            continue
        seen.add(link)
        depth = -1
        if found["item"]:
            indent = len(found["indent"].expandtabs(4))
            while indents and indents[-1] >= indent:
                indents.pop()
            depth = len(indents)
            indents.append(indent)
        part = next((title for start, title in reversed(parts) if start < found.start()), None)
        entries.append(Entry(link, depth, part, found["title"].strip()))
    return entries
