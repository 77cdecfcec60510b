"""The public address of a page, by the rules of the tool that publishes the book."""

from __future__ import annotations

import posixpath
from urllib.parse import quote

from bythebook.reading.anchors import Flavor
from bythebook.reading.head import Head
from bythebook.reading.numbers import is_index, without_docusaurus_prefix
from bythebook.reading.readers import suffix_of


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
