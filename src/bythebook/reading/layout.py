"""Finding a book in a folder: which tool made it, where its pages are, in what order."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from bythebook.errors import InputError
from bythebook.models.values import check_book_id
from bythebook.reading.contents import (
    SUMMARY,
    Entry,
    file_titles,
    nav_files,
    nav_titles,
    read_summary,
)
from bythebook.reading.metadata import (
    MANIFEST,
    UNREADABLE,
    Manifest,
    first_line,
    load_toml,
    load_yaml,
    read_manifest,
)
from bythebook.reading.naming import name_book, slug
from bythebook.reading.readers import FORMATS
from bythebook.reading.slugs import Flavor, humanise

MARKDOWN_SUFFIXES = (".md", ".mdx", ".markdown")
PAGE_SUFFIXES = (*MARKDOWN_SUFFIXES, *FORMATS)
IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


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
    files: tuple[str, ...]
    base_url: str = ""
    language: str = "en"
    manifest: Manifest = field(default_factory=Manifest)
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
        raise InputError(
            f"There is no file or folder {path}.", action="Check the path of the book."
        )
    top = path.resolve()
    if not top.is_dir():
        return _single_file(top, book_id)
    manifest = read_manifest(top)
    config = _site_config(top)
    root = _pages_folder(top, manifest, config)
    files, problems = _find_pages(root)
    flavor = manifest.book.flavor or _guess_flavor(root, config, files)
    contents: tuple[Entry, ...] = ()
    if flavor == "mdbook" and SUMMARY in files:
        contents = tuple(read_summary(root, files))
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
    name = name_book(top, config.get("title"))
    return Book(
        book_id=check_book_id(book_id or manifest.book.id or name.book_id),
        title=manifest.book.title or name.title,
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
        book_id=check_book_id(book_id or slug(file.stem)),
        title=humanise(file.stem),
        root=file.parent,
        top=file.parent,
        flavor="plain",
        files=(file.name,),
    )


def _site_config(top: Path) -> dict[str, Any]:
    """What the configuration of mdBook or MkDocs says, of the folder or the one above it."""
    for folder in (top, top.parent):
        if (file := folder / "book.toml").is_file():
            named = _values(file, load_toml).get("book")
            book = named if isinstance(named, dict) else {}
            return {
                "flavor": "mdbook",
                "folder": folder,
                "title": _text(book.get("title")),
                "pages": _text(book.get("src")) or "src",
            }
        for name in ("mkdocs.yml", "mkdocs.yaml"):
            if (file := folder / name).is_file():
                values = _values(file, lambda text: load_yaml(text, _LenientLoader))
                return {
                    "flavor": "mkdocs",
                    "folder": folder,
                    "title": _text(values.get("site_name")),
                    "base_url": _text(values.get("site_url")),
                    "pages": _text(values.get("docs_dir")) or "docs",
                    "nav": nav_files(values.get("nav")),
                    "titles": nav_titles(values.get("nav")),
                }
        if any(folder.glob("docusaurus.config.*")):
            return {"flavor": "docusaurus", "folder": folder, "pages": "docs"}
    return {}


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


class _LenientLoader(yaml.SafeLoader):
    """MkDocs files name Python objects (`!!python/name:…`); their value is of no interest here."""


_LenientLoader.add_multi_constructor("", lambda _loader, _suffix, _node: None)


def _values(file: Path, load: Callable[[str], Any]) -> dict[str, Any]:
    try:
        values = load(file.read_text(encoding="utf-8"))
    except (*UNREADABLE, OSError) as problem:
        raise InputError(
            f"{file.name} can't be read: {first_line(problem)}.", action="Correct it."
        ) from problem
    return values if isinstance(values, dict) else {}


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


def _guess_flavor(root: Path, config: dict[str, Any], files: Sequence[str]) -> Flavor:
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
