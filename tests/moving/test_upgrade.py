"""Homes of every released version: they open, or say exactly what to run."""

from __future__ import annotations

import runpy
import sqlite3
from pathlib import Path

import pytest

from booktext import unpack
from bythebook.database.engine import REVISION
from bythebook.errors import ConfigurationError, StoreError
from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.models.chunk import CHUNKER_VERSION
from bythebook.models.search_messages import SearchQuery
from bythebook.settings import Settings
from bythebook.threads import Threads
from invariants import check_invariants

ROOT = Path(__file__).parents[2]
HOMES = sorted((ROOT / "tests/data/homes").glob("*.tar.xz"))
MAKER = runpy.run_path(str(ROOT / "scripts/make_old_home.py"))


@pytest.fixture
def old_home(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    unpack(request.param, tmp_path)
    return tmp_path / "home"


@pytest.mark.parametrize("old_home", HOMES, ids=lambda path: path.name, indirect=True)
async def test_a_home_of_a_released_version_goes_on(old_home: Path, tmp_path: Path) -> None:
    async with await Library.open(Settings(home=old_home)) as library:
        query = SearchQuery(text="What is a node?", book_id="small", hardware_tier_filter=4)
        found = await library.search(query)
        assert found.passages[0].metadata.source_file == "chapter-1/01-nodes.md"
        await check_invariants(library, "small")
        assert [key.name for key in await Keys(library.engine).list()] == ["website"]
        assert await Threads(library.engine).load(MAKER["SESSION"]) is not None
        MAKER["write_pages"](tmp_path / "book")
        (tmp_path / "book/chapter-1/03-new.md").write_text("# New\n\nServices answer requests.\n")
        known = await library.book("small")
        is_outdated = known.chunker_version < CHUNKER_VERSION
        changes = await library.changes(tmp_path / "book")
        job = await library.ingest(tmp_path / "book")
        assert job.files_processed == (3 if is_outdated else 1)
        for warnings in (changes.warnings, job.warnings):
            told = [line for line in warnings if "cut into passages by an earlier" in line]
            assert len(told) == is_outdated
        assert len(await check_invariants(library, "small")) == 3
        assert (await library.book("small")).chunker_version == CHUNKER_VERSION
        again = await library.ingest(tmp_path / "book")
        assert (again.files_processed, again.warnings) == (0, [])


def set_in(home: Path, statement: str) -> None:
    connection = sqlite3.connect(home / "bythebook.db")
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("old_home", HOMES[-1:], ids=lambda path: path.name, indirect=True)
async def test_a_home_of_a_newer_version_is_refused(old_home: Path, tmp_path: Path) -> None:
    settings = Settings(home=old_home)
    MAKER["write_pages"](tmp_path / "book")
    set_in(old_home, f"UPDATE books SET chunker_version = {CHUNKER_VERSION + 1}")
    async with await Library.open(settings) as library:
        with pytest.raises(ConfigurationError, match="newer bythebook") as refused:
            await library.ingest(tmp_path / "book")
        assert "pip install --upgrade bythebook" in refused.value.action
    set_in(old_home, f"UPDATE alembic_version SET version_num = '{int(REVISION) + 1:04}'")
    with pytest.raises(StoreError, match="newer bythebook") as newer:
        await Library.open(settings)
    assert "pip install --upgrade bythebook" in newer.value.action
