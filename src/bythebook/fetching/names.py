"""File names for web addresses: each its own, inside the folder, good on every system."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote

from bythebook.fetching.urls import Scope, key_of

PLAIN = re.compile(r"[a-z0-9_-][a-z0-9._-]{0,59}(?<!\.)")
RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
ODD = re.compile(r"[^\w.-]+")
DOTS = re.compile(r"^\.+|\.+$")
MAX_FOLDERS = 8
MAX_BYTES = 60
# Not what pages are called, so that `/guide` and `/guide.html` can both be kept.
WITHOUT_ENDING = ".htm"


def file_name(scope: Scope, url: str, kind: str = ".html") -> str:
    """Where the page is kept, relative to the site's folder. Addresses that `key_of` tells apart
    get names that differ even where letters' case does not count. A name that is not the
    address's own path has a hash behind a tilde, which no plain name has."""
    address, mark, query = key_of(url).partition("?")
    *folders, last = scope.path_in(address + "/").removesuffix("/").split("/")
    ending = WITHOUT_ENDING if kind == ".html" and not last.endswith(".html") else kind
    if not last and not folders and not mark:
        return f"index{ending}"
    stem = last.removesuffix(ending)
    own = stem != last if ending != WITHOUT_ENDING else stem == last and stem != "index"
    if (
        own
        and not mark
        and len(folders) <= MAX_FOLDERS
        and all(_is_plain(folder) and not _is_page(folder) for folder in folders)
        and _is_plain(stem)
    ):
        return "/".join([*folders, stem + ending])
    digest = hashlib.sha256(key_of(url).encode()).hexdigest()[:16]
    shown = _shown(f"{stem} {query}" if mark else stem).replace(".", "-")
    kept = [_shown(folder).replace(".", "-") for folder in folders[:MAX_FOLDERS]]
    return "/".join([*kept, f"{shown}~{digest}{ending}"])


def _is_plain(segment: str) -> bool:
    return bool(PLAIN.fullmatch(segment)) and not RESERVED.fullmatch(segment)


def _is_page(segment: str) -> bool:
    return segment.endswith((".html", ".htm", ".pdf", ".epub", ".md"))


def _shown(segment: str) -> str:
    """What a person may read in the name."""
    text = DOTS.sub("", ODD.sub("-", unquote(segment, errors="replace"))).strip("-")
    text = text.encode("utf-8", "replace")[:MAX_BYTES].decode("utf-8", "ignore")
    return f"_{text}" if not text or text.startswith("_") or RESERVED.fullmatch(text) else text
