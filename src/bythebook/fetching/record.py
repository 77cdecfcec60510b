"""The copy of a site: its pages, their files, and what is known of them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from urllib.parse import unquote

from pydantic import BaseModel, Field, ValidationError

from bythebook.errors import SourceError
from bythebook.fetching.address import Scope, key_of
from bythebook.files import check_room, disk_full, is_full
from bythebook.reading.source import hash_bytes, hash_text

RECORD = "site.json"
PAGES = "pages"
PLAIN = re.compile(r"[a-z0-9_-][a-z0-9._-]{0,59}(?<!\.)")
RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
ODD = re.compile(r"[^\w.-]+")
DOTS = re.compile(r"^\.+|\.+$")
MAX_FOLDERS = 8
MAX_BYTES = 60
# Not what pages are called, so that `/guide` and `/guide.html` can both be kept.
WITHOUT_ENDING = ".htm"


class FetchedPage(BaseModel):
    """A page as it was last seen. `instead` is the page that it only repeats."""

    url: str
    file: str
    hash: str
    etag: str = ""
    last_modified: str = ""
    canonical: str = ""
    instead: str = ""


class SiteRecord(BaseModel):
    """`pages` by what tells them apart. `whole`: there was a crawl in which no page failed, so that
    what is not in here is not in the site."""

    version: int = 1
    start: str = ""
    title: str = ""
    language: str = "en"
    whole: bool = False
    pages: dict[str, FetchedPage] = Field(default_factory=dict)

    def shown(self) -> list[FetchedPage]:
        return [page for page in self.pages.values() if not page.instead]


def mark_repeats(record: SiteRecord) -> None:
    """The first of several with the same content counts; and a page that names another as the
    canonical one gives way to it, if that one is there and does not itself give way."""
    first: dict[str, str] = {}
    for page in record.pages.values():
        original = first.setdefault(page.hash, page.url)
        page.instead = "" if original == page.url else original
    start = key_of(record.start)
    for key, page in record.pages.items():
        wanted = key_of(page.canonical)
        target = record.pages.get(wanted)
        if page.instead or not page.canonical or wanted == key or not target or target.instead:
            continue
        # Sites that name their start page as the canonical one of every page are wrong.
        if wanted == start and key.partition("?")[0] != start.partition("?")[0]:
            continue
        page.instead = target.url


class Mirror:
    """The folder of a site: its record and its pages, each written in one stroke."""

    def __init__(self, folder: Path, reserve: int = 0) -> None:
        self.folder = folder
        self.reserve = reserve  # bytes of the disk that stay free

    @property
    def pages(self) -> Path:
        return self.folder / PAGES

    def load(self) -> SiteRecord | None:
        try:
            return SiteRecord.model_validate_json((self.folder / RECORD).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as problem:
            raise SourceError(
                f"{self.folder / RECORD} can't be read.",
                action=f"Remove the folder {self.folder}; everything is fetched again then.",
            ) from problem

    def save(self, record: SiteRecord) -> None:
        text = json.dumps(record.model_dump(exclude_defaults=True), ensure_ascii=False, indent=1)
        _write(self.folder / RECORD, text.encode("utf-8", "replace"))

    def write_page(self, file: str, body: bytes) -> str:
        check_room(self.folder, self.reserve, len(body))
        _write(self.pages / file, body)
        return hash_bytes(body)

    def read_page(self, page: FetchedPage) -> bytes | None:
        """The page as it was fetched; None if the file is lost or not what it was."""
        try:
            body = (self.pages / page.file).read_bytes()
        except OSError:
            return None
        return body if hash_bytes(body) == page.hash else None

    def tidy(self, record: SiteRecord) -> None:
        """Remove files that no page has."""
        known = {page.file for page in record.pages.values()}
        for folder, _, names in os.walk(self.pages, topdown=False):
            for name in names:
                file = Path(folder) / name
                if file.relative_to(self.pages).as_posix() not in known:
                    file.unlink()
            if Path(folder) != self.pages and not any(Path(folder).iterdir()):
                Path(folder).rmdir()


def _write(file: Path, data: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(file.name + ".new")
        new.write_bytes(data)
        new.replace(file)
    except OSError as problem:
        if is_full(problem):
            raise disk_full(file) from problem
        raise SourceError(
            f"{file} can't be written: {problem.strerror}.", action="Check the disk."
        ) from problem


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
    digest = hash_text(key_of(url))[:16]
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
