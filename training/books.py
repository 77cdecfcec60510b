"""The books that examples are written from, cut into passages as bythebook cuts them.

A passage is shown to those who write and judge examples as numbered units: sentences, list items,
table rows, code blocks. They name units; what is kept are ranges of the passage's characters.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bythebook.ingestion.plan import make_plan
from bythebook.models.job import IngestionState
from bythebook.reading.document import PLAIN
from bythebook.reading.layout import find_book

# Name → repository or source distribution, licence of the text. `../shared/data/README.md` says
# which files of each repository.
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
    "flask": ("flask==3.1.3", "BSD-3-Clause"),
    "click": ("click==8.5.1", "BSD-3-Clause"),
    "black": ("black==26.10.1", "MIT"),
    "beets": ("beets==2.14.1", "MIT"),
    "scrapy": ("scrapy==2.19.0", "BSD-3-Clause"),
    "pip": ("pip==26.3", "MIT"),
    "gunicorn": ("gunicorn==27.0.1", "MIT"),
    "aiohttp": ("aiohttp==3.14.5", "Apache-2.0"),
    "supervisor": ("supervisor==4.3.0", "BSD-derived (repoze.org)"),
    "dask": ("dask==2026.8.0", "BSD-3-Clause"),
    "sphinx": ("sphinx==9.0.4", "BSD-2-Clause"),
}
# Books that were asked, with the passages that search found: readers wrote questions and sentences
# about them, and `made.py` makes nothing from them.
ASKED_BOOKS: dict[str, tuple[str, str]] = {
    name: (requirement, licence)
    for name, (requirement, licence) in json.loads(
        (Path(__file__).parent / "data" / "asked-books.json").read_text()
    ).items()
}
# Where the documentation lies in the source distributions of those that PyPI has.
DOCUMENTATION = {
    **dict.fromkeys(
        ("flask", "click", "black", "beets", "scrapy", "aiohttp", "supervisor"), "docs"
    ),
    "pip": "docs/html",
    "gunicorn": "docs/content",
    "dask": "docs/source",
    "sphinx": "doc",
}
# Old release notes, which would be most of the book.
LEFT_OUT = ("changelog*", "news.rst", "changes/[0-5]*", "announce")
# No training row comes from these two.
CHECK_BOOKS = ("julia", "hf-course")
# How to train is chosen by these, which are not trained on either.
DEV_BOOKS = ("numba", "peewee", "jupyterhub", "sqlite")
# Documentation in source distributions that nothing is trained on: benchmarks/answers.py asks them.
JUDGING_BOOKS = {
    "pytest": ("pytest==9.2.0", "doc/en"),
    "nikola": ("nikola==8.3.3", "docs"),
    "hatch": ("hatch==1.18.2", "docs"),
    "xarray": ("xarray==2026.9.0", "doc"),
    "celery": ("celery==5.5.3", "docs"),
    "pyinstaller": ("pyinstaller==6.14.2", "doc"),
    "scikit-build-core": ("scikit-build-core==0.11.5", "docs"),
    "trio": ("trio==0.30.0", "docs/source"),
    "apscheduler": ("apscheduler==3.11.3", "docs"),
    "invoke": ("invoke==3.0.3", "sites/docs"),
    "webtest": ("webtest==3.0.7", "docs"),
}
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


def unpack(name: str, archives: Path, work: Path) -> Path:
    """The folder of the book's files, from its archive or from PyPI."""
    folder = work / "books" / name
    if folder.exists():
        return folder
    if name in DOCUMENTATION:
        return from_pypi(BOOKS[name][0], DOCUMENTATION[name], folder)
    with tarfile.open(archives / f"{name}.tar.xz") as files:
        files.extractall(folder, filter="data")
    for file in folder.rglob("*.txt"):  # Django's reStructuredText
        file.rename(file.with_suffix(".rst"))
    return folder


def from_pypi(requirement: str, documentation: str, folder: Path) -> Path:
    """The documentation in a source distribution."""
    wanted = ["--no-deps", "--no-binary", ":all:", requirement]
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--dest", place, *wanted], check=True
        )
        (file,) = Path(place).glob("*.tar.gz")
        with tarfile.open(file) as files:
            files.extractall(place, filter="data")
        (top,) = (found for found in Path(place).iterdir() if found.is_dir())
        shutil.copytree(top / documentation, folder)
    for pattern in LEFT_OUT:
        for old in folder.glob(pattern):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    return folder


def passages(book: str, folder: Path) -> Iterator[BookPassage]:
    found = find_book(folder, book)
    state = IngestionState(book_id=book, collection_name="none")
    plan = make_plan(found, state, "full", MAX_BYTES)
    number = 0
    for file in plan.process:
        for chunk in PLAIN.read(found, file, plan.placements[file], MAX_BYTES).document.chunks:
            yield BookPassage(
                book,
                number,
                chunk.metadata.source_file,
                tuple(chunk.metadata.heading_path),
                chunk.text,
            )
            number += 1
