"""The books that examples are written from, cut into passages as bythebook cuts them.

A passage is shown to those who write and judge examples as numbered units: sentences, list items,
table rows, code blocks. They name units; what is kept are ranges of the passage's characters.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bythebook.ingestion.plan import make_plan, read_page
from bythebook.models.state import IngestionState
from bythebook.reading.layout import find_book

# Name → repository, licence of the text. `../shared/data/README.md` says which files of each.
BOOKS = {
    "fastapi": ("fastapi/fastapi", "MIT"),
    "vue": ("vuejs/docs", "CC BY 4.0"),
    "k8s": ("kubernetes/website", "CC BY 4.0"),
    "react": ("reactjs/react.dev", "CC BY 4.0"),
    "django": ("django/django", "BSD-3-Clause"),
    "docker": ("docker/docs", "Apache-2.0"),
    "sklearn": ("scikit-learn/scikit-learn", "BSD-3-Clause"),
    "julia": ("JuliaLang/julia", "MIT"),
    "iot": ("microsoft/IoT-For-Beginners", "MIT"),
    "hf-course": ("huggingface/course", "Apache-2.0"),
    "turing-way": ("the-turing-way/the-turing-way", "CC BY 4.0"),
}
# No training row comes from these two.
CHECK_BOOKS = ("julia", "hf-course")
MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class BookPassage:
    book: str
    number: int
    path: str
    headings: tuple[str, ...]
    text: str

    @property
    def id(self) -> str:
        return f"{self.book}:{self.number}"


def unpack(archive: Path, folder: Path) -> Path:
    """The book's files below `folder`, with Django's reStructuredText under its usual ending."""
    if not folder.exists():
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
        for file in folder.rglob("*.txt"):
            file.rename(file.with_suffix(".rst"))
    return folder


def passages(book: str, folder: Path) -> Iterator[BookPassage]:
    found = find_book(folder, book)
    state = IngestionState(book_id=book, collection_name="none")
    plan = make_plan(found, state, "full", MAX_BYTES)
    number = 0
    for file in plan.process:
        for chunk in read_page(found, file, plan.placements[file], MAX_BYTES)[1].chunks:
            yield BookPassage(
                book,
                number,
                chunk.metadata.source_file,
                tuple(chunk.metadata.heading_path),
                chunk.text,
            )
            number += 1
