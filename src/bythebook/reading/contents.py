"""Titles that a table of contents gives to pages: Sphinx' toctree, Jupyter Book's and MyST's files,
Docusaurus' sidebars, MkDocs' nav."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bythebook.reading.converted import Titled
from bythebook.reading.metadata import UNREADABLE, first_line, load_yaml
from bythebook.reading.slugs import without_docusaurus_prefix

FILES = ("_toc.yml", "_toc.yaml", "myst.yml")
# Items of a Docusaurus sidebar: objects of JavaScript without others in them.
SIDEBARS = ("sidebars.js", "sidebars.ts", "sidebars.json", "sidebars.cjs", "sidebars.mjs")
MAX_BYTES = 1_000_000
ITEM = re.compile(r"\{[^{}]*\}")
ID = re.compile(r"\bid[\"']?\s*:\s*([\"'`])(?P<value>(?:(?!\1)[^\\\r\n])+)\1")
LABEL = re.compile(r"\blabel[\"']?\s*:\s*([\"'`])(?P<value>(?:(?!\1)[^\\\r\n])+)\1")


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
    """Every table in it, each once: YAML may name the same one in many places."""
    waiting = [values]
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict | list) or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            yield part
        waiting += reversed(list(part.values()) if isinstance(part, dict) else part)


def _docusaurus_id(file: str) -> str:
    parts = file.rpartition(".")[0].split("/")
    return "/".join(without_docusaurus_prefix(part) for part in parts)
