"""What can't be read, or never ends, among the files of a book is left out with a warning."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from booktext import lesson, section
from bythebook.errors import InputError
from bythebook.ingestion.plan import make_plan
from bythebook.library import Library
from bythebook.models.job import IngestionState
from bythebook.reading.layout import find_book
from bythebook.reading.source import read_bytes

NOBODY = 65534
MB = 1_000_000


def fill(folder: Path) -> Path:
    (folder / "02-page.md").write_text(lesson("Page", section("Part", "nodes")), encoding="utf-8")
    return folder


@contextmanager
def without_rights() -> Iterator[None]:
    """Root may read every file."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(was)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where also nobody may look, and where the name of a socket is short enough."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield fill(made)
    shutil.rmtree(made)


def test_a_first_file_that_can_not_be_read(folder: Path) -> None:
    (folder / "01-secret.md").write_text("# Secret\n")
    (folder / "01-secret.md").chmod(0)
    with without_rights():
        book = find_book(folder)
        plan = make_plan(
            book, IngestionState(book_id="odd", collection_name="c"), "incremental", MB
        )
    assert plan.process == ("02-page.md",)
    assert any("01-secret.md can't be read" in warning for warning in plan.warnings)


def test_a_summary_that_can_not_be_read_is_told(folder: Path) -> None:
    (folder / "SUMMARY.md").write_text("- [Page](02-page.md)\n")
    (folder / "SUMMARY.md").chmod(0)
    with without_rights(), pytest.raises(InputError, match=r"SUMMARY\.md can't be read"):
        find_book(folder)


@pytest.mark.parametrize("name", ["01-pipe.md", "SUMMARY.md", "01-pipe.pdf", "linked.md"])
async def test_a_pipe_is_not_waited_for(library: Library, folder: Path, name: str) -> None:
    if name == "linked.md":
        os.mkfifo(folder / ".pipe")
        (folder / name).symlink_to(folder / ".pipe")
    else:
        os.mkfifo(folder / name)
    job = await library.ingest(folder, book_id="odd")
    assert (job.status, job.files_processed) == ("completed", 1)
    assert any(warning.startswith(name) for warning in job.warnings)


async def test_a_socket_is_left_out(library: Library, folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "01-socket.md"))
        job = await library.ingest(folder, book_id="odd")
    assert (job.status, job.files_processed) == ("completed", 1)
    assert any("01-socket.md is a pipe, socket or device" in text for text in job.warnings)


def test_a_file_that_became_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "03-page.md")
    with pytest.raises(InputError, match="not an ordinary file"):
        read_bytes(folder, "03-page.md", MB)
