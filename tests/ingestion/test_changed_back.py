"""A run dies after the index has a change and before the database has heard of it, and the book is
changed back: the index must not keep what the book does not say any more."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from booktext import WriteBook, lesson, section
from bythebook.library import Library
from bythebook.settings import Settings
from invariants import check_invariants, content_of

DYING = """
import asyncio, os, sys
from pathlib import Path
from bythebook.ingestion.catalog import Catalog
from bythebook.library import Library
from bythebook.settings import Settings

async def die(*_):
    os._exit(9)

async def main():
    setattr(Catalog, sys.argv[3], die)
    async with await Library.open(Settings(home=Path(sys.argv[1]))) as library:
        await library.ingest(Path(sys.argv[2]), book_id="one")

asyncio.run(main())
"""


def rewritten(root: Path) -> None:
    (root / "02-wheels.md").write_text(lesson("Wheels", section("Other wheels", "sensors")))


def renumbered(root: Path) -> None:
    (root / "01-actions.md").write_text(lesson("Actions", section("Long tasks", "actions")))


def removed(root: Path) -> None:
    (root / "02-wheels.md").unlink()


@pytest.mark.parametrize(
    ("change", "dies_in"),
    [(rewritten, "save_files"), (renumbered, "save_files"), (removed, "forget_file")],
)
async def test_what_was_changed_back_is_as_it_was(
    write_book: WriteBook, home: Path, tmp_path: Path, change: Callable[[Path], None], dies_in: str
) -> None:
    root = write_book(
        {
            "01-nodes.md": lesson("Nodes", section("What a node is", "nodes")),
            "02-wheels.md": lesson("Wheels", section("Two wheels", "wheels")),
            "03-topics.md": lesson("Topics", section("What a topic is", "topics")),
        }
    )
    before = shutil.copytree(root, tmp_path / "before")
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(root, book_id="one")
        then = await content_of(library, "one")
    change(root)
    arguments = ["-c", DYING, str(home), str(root), dies_in]
    dying = await asyncio.create_subprocess_exec(sys.executable, *arguments)
    assert await dying.wait() == 9
    shutil.rmtree(root)
    shutil.copytree(before, root)
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(root, book_id="one")
        await check_invariants(library, "one")
        assert await content_of(library, "one") == then
