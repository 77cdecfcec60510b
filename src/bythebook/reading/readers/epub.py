"""EPUB: the documents of its spine in their order, under the titles of its table of contents."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote

from bythebook.errors import InputError
from bythebook.reading.readers import Converted
from bythebook.reading.readers.html import HEADINGS, HtmlText
from bythebook.reading.readers.markdown_writer import MarkdownWriter
from bythebook.reading.readers.markup_tokens import decoded, tokens
from bythebook.reading.readers.zip_archive import Archive

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
MAX_DOCUMENTS = 10_000
TEXT_TYPES = frozenset({"application/xhtml+xml", "text/html", "application/xml", ""})


@dataclass(frozen=True)
class _Package:
    title: str
    language: str | None
    spine: dict[str, None]
    contents: str


def read(data: bytes, path: str) -> Converted:
    with Archive(data, path, "an EPUB file") as archive:
        package = _package(archive)
        _refuse_protected(archive, package)
        titles = _titles(archive, package.contents)
        writer = MarkdownWriter(path)
        writer.mark("")
        writer.heading(1, package.title)
        missing = 0
        for document in islice(package.spine, MAX_DOCUMENTS):
            if document not in archive.names:
                missing += 1
                continue
            found = list(tokens(decoded(archive.read(document))))
            writer.mark(f"/{document}")
            if not any(token.name in HEADINGS for token in found):
                writer.heading(2, titles.get(document, ""))
            skipped = frozenset({"nav"})
            HtmlText(writer, found, skipped=skipped, base=f"/{document}", levels=1).write()
    problems = [f"{missing} of its documents are not in it"] if missing else []
    return writer.finish(language=package.language, problems=problems, chaptered=True)


def _package(archive: Archive) -> _Package:
    name = ""
    for token in archive.xml(CONTAINER):
        if token.kind == "open" and token.name == "rootfile":
            name = name or token.attributes().get("full-path", "")
    if name not in archive.names:
        raise archive.damaged()
    texts = {"title": "", "language": ""}
    items: dict[str, str] = {}
    spine: dict[str, None] = {}
    contents = ""
    inside = ""
    for token in archive.xml(name):
        if token.kind == "text":
            if inside in texts and not texts[inside]:
                texts[inside] = " ".join(token.raw.split())
            continue
        inside = token.name if token.kind == "open" else ""
        if token.kind == "open" and token.name == "item":
            item = token.attributes()
            file = posixpath.normpath(posixpath.join(posixpath.dirname(name), _file(item)))
            kind = item.get("media-type", "")
            if kind in TEXT_TYPES:
                items[item.get("id", "")] = file
            if "nav" in item.get("properties", "").split() or (not contents and "ncx" in kind):
                contents = file
        elif token.kind == "open" and token.name == "itemref":
            file = items.get(token.attributes().get("idref", ""), "")
            if file:
                spine.setdefault(file)
    if not spine:
        raise archive.damaged()
    return _Package(texts["title"], texts["language"], spine, contents)


def _file(attributes: dict[str, str]) -> str:
    target = attributes.get("href") or attributes.get("src") or ""
    return unquote(target.partition("#")[0])


def _titles(archive: Archive, contents: str) -> dict[str, str]:
    """The first title that the table of contents gives each document."""
    titles: dict[str, str] = {}
    folder = posixpath.dirname(contents)
    words: list[str] = []
    target = ""
    for token in archive.xml(contents):
        if token.kind == "text":
            words.append(token.raw)
        elif token.kind == "open" and token.name == "a":  # the navigation of EPUB 3
            target, words = _file(token.attributes()), []
        elif token.kind == "close" and token.name == "a":
            _keep(titles, folder, target, words)
        elif token.kind == "open" and token.name == "navlabel":  # the one of EPUB 2
            words = []
        elif token.kind == "open" and token.name == "content":
            _keep(titles, folder, _file(token.attributes()), words)
    return titles


def _keep(titles: dict[str, str], folder: str, target: str, words: list[str]) -> None:
    title = " ".join("".join(words).split())
    if target and title:
        titles.setdefault(posixpath.normpath(posixpath.join(folder, target)), title)


def _refuse_protected(archive: Archive, package: _Package) -> None:
    """Fonts may be disguised; text that is can't be read."""
    for token in archive.xml(ENCRYPTION):
        is_reference = token.kind == "open" and token.name == "cipherreference"
        if is_reference and unquote(token.attributes().get("uri", "")) in package.spine:
            raise InputError(
                f"{archive.path} is protected against copying (DRM).",
                action="Use an edition without protection.",
            )
