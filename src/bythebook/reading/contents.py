"""What tables of contents say of pages: mdBook's SUMMARY.md, MkDocs' nav, Sphinx' toctree, Jupyter
Book's and MyST's files, Docusaurus' sidebars."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bythebook.errors import InputError
from bythebook.reading.metadata import UNREADABLE, first_line, load_yaml
from bythebook.reading.readers import Titled
from bythebook.reading.slugs import without_docusaurus_prefix

SUMMARY = "SUMMARY.md"
SUMMARY_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<item>[-*+][ \t]+)?\[(?P<title>.*?)\]"
    r"\(<?(?P<link>(?:(?!\]\()[^)<>\n])++)>?\)",
    re.M,
)
SUMMARY_PART = re.compile(r"^#[ \t]++(?P<title>.+)$", re.M)
FILES = ("_toc.yml", "_toc.yaml", "myst.yml")
# Items of a Docusaurus sidebar: objects of JavaScript without others in them.
SIDEBARS = ("sidebars.js", "sidebars.ts", "sidebars.json", "sidebars.cjs", "sidebars.mjs")
MAX_BYTES = 1_000_000
ITEM = re.compile(r"\{[^{}]*\}")
ID = re.compile(r"\bid[\"']?\s*:\s*([\"'`])(?P<value>(?:(?!\1)[^\\\r\n])+)\1")
LABEL = re.compile(r"\blabel[\"']?\s*:\s*([\"'`])(?P<value>(?:(?!\1)[^\\\r\n])+)\1")


@dataclass(frozen=True)
class Entry:
    """A line of mdBook's table of contents; `depth` is -1 for one outside the numbered list."""

    source_file: str
    depth: int
    part: str | None
    title: str


def read_summary(root: Path, files: Sequence[str]) -> list[Entry]:
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


def page_titles(contents: Mapping[str, Iterable[Titled]]) -> dict[str, str]:
    """What the toctrees of pages call other pages."""
    found: dict[str, str] = {}
    known = Pages(contents if any(contents.values()) else ())
    for file, entries in contents.items():
        for title, target in entries:
            page = known.named(target, posixpath.dirname(file))
            if page:
                found.setdefault(page, title)
    return found


def nav_files(nav: Any) -> list[str]:
    """MkDocs' pages, in their order."""
    return [part for part in _parts(nav) if isinstance(part, str)]


def nav_titles(nav: Any) -> dict[str, str]:
    """MkDocs: `- Title: page.md`, at any depth."""
    found: dict[str, str] = {}
    for part in _tables(nav):
        for title, target in part.items():
            if isinstance(target, str) and isinstance(title, str) and title.strip():
                found.setdefault(target, title.strip())
    return found


def file_titles(folders: Iterable[Path], files: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """What files for contents or sidebars in these folders call the pages, and which of those
    files can't be read."""
    found: dict[str, str] = {}
    problems: list[str] = []
    named = [folder / name for folder in folders for name in (*FILES, *SIDEBARS)]
    present = [file for file in named if file.is_file() and not file.is_symlink()]
    known = Pages(files if present else ())
    ids = {_docusaurus_id(file): file for file in known.files}
    for file in present:
        try:
            entries = _entries(file)
        except (*UNREADABLE, OSError) as problem:
            problems.append(f"{file.name} can't be read: {first_line(problem)}")
            continue
        for title, target in entries:
            page = known.named(target) or ids.get(target)
            if page:
                found.setdefault(page, title)
    return found, problems


class Pages:
    """Pages by their path, with its ending or without."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = tuple(files)
        self.names = {file.rpartition(".")[0]: file for file in reversed(self.files)}
        self.names |= {file: file for file in self.files}

    def named(self, target: str, folder: str = "") -> str | None:
        path = target.partition("#")[0]
        inside = path.lstrip("/") if path.startswith("/") else posixpath.join(folder, path)
        return self.names.get(posixpath.normpath(inside))


def _entries(file: Path) -> list[Titled]:
    if file.stat().st_size > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES // 1_000_000} MB")
    text = file.read_text(encoding="utf-8")
    pairs: list[tuple[Any, Any]]
    if file.name in FILES:
        pairs = [(part.get("title"), part.get("file")) for part in _tables(load_yaml(text))]
    else:
        items = [(LABEL.search(item[0]), ID.search(item[0])) for item in ITEM.finditer(text)]
        pairs = [(label["value"], id_["value"]) for label, id_ in items if label and id_]
    return [
        (title.strip(), target)
        for title, target in pairs
        if isinstance(title, str) and isinstance(target, str) and title.strip()
    ]


def _tables(values: Any) -> Iterator[dict[Any, Any]]:
    return (part for part in _parts(values) if isinstance(part, dict))


def _parts(values: Any) -> Iterator[Any]:
    """All values in it, in their order, each list and table once: YAML may name one many times."""
    waiting, seen = [values], set[int]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict | list):
            if id(part) in seen:
                continue
            seen.add(id(part))
            waiting += reversed(list(part.values()) if isinstance(part, dict) else part)
        yield part


def _docusaurus_id(file: str) -> str:
    parts = file.rpartition(".")[0].split("/")
    return "/".join(without_docusaurus_prefix(part) for part in parts)
