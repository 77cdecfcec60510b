"""What was fetched of a site, kept beside the pages themselves."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from bythebook.errors import SourceError
from bythebook.files import check_room, disk_full, is_full
from bythebook.reading.source import hash_bytes

RECORD = "site.json"
PAGES = "pages"


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
