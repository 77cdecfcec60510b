"""From the embedded index and SQLite to real servers: everything arrives, nothing is embedded, and
a move that was interrupted goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from booktext import WriteBook
from bythebook.database.tables import metadata
from bythebook.errors import StoreError
from bythebook.index import store as store_module
from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.models.conversation import Turn
from bythebook.models.search_messages import SearchQuery
from bythebook.models.values import new_id
from bythebook.moving.migration import migrate
from bythebook.settings import Settings
from bythebook.threads import Threads
from invariants import check_invariants, content_of
from postgres_server import new_database

PAGES = {
    f"part-{n}.md": f"# Part {n}\n\n" + f"Pump {n} turns when lever {n} is pulled. " * 8
    for n in range(9)
}


@pytest.fixture
async def target(qdrant_url: str, postgres_url: str, tmp_path: Path) -> AsyncIterator[Library]:
    async with new_database(postgres_url) as database:
        settings = Settings(
            home=tmp_path / "home",
            qdrant_url=qdrant_url,
            database_url=database,
            collection=f"moved-{new_id()}",
        )
        async with await Library.open(settings) as opened:
            yield opened
            await (await opened.store()).drop()


async def filled(library: Library, write_book: WriteBook) -> str:
    await library.ingest(write_book(PAGES), book_id="pumps")
    await Keys(library.engine).create("website", ["chat"])
    session = new_id()
    turn = Turn("When does pump 3 turn?", "When lever 3 is pulled.")
    await Threads(library.engine).append(session, turn, metadata={"book_id": "pumps"}, is_new=True)
    return session


async def check_same(one: Library, other: Library) -> None:
    assert await content_of(one, "pumps") == await content_of(other, "pumps")


async def counts(library: Library) -> dict[str, int]:
    async with library.engine.connect() as connection:
        return {
            table.name: (
                await connection.execute(select(func.count()).select_from(table))
            ).scalar_one()
            for table in metadata.sorted_tables
        }


async def test_everything_arrives(library: Library, target: Library, write_book: WriteBook) -> None:
    session = await filled(library, write_book)
    moved = await migrate(library, target)
    assert moved.passages == {"pumps": len(await content_of(library, "pumps"))}
    assert target.embedder.texts_embedded == 0
    assert await counts(target) == await counts(library)
    await check_same(library, target)
    await check_invariants(target, "pumps")
    query = SearchQuery(text="When does pump 3 turn?", book_id="pumps", hardware_tier_filter=4)
    here, there = (await library.search(query)), (await target.search(query))
    assert here.passages[0].id == there.passages[0].id
    assert await Threads(target.engine).load(session) is not None
    assert [key.name for key in await Keys(target.engine).list()] == ["website"]


async def test_a_second_run_writes_nothing_and_jobs_go_on(
    library: Library, target: Library, write_book: WriteBook
) -> None:
    await filled(library, write_book)
    assert (await migrate(library, target)).written > 0
    assert (await migrate(library, target)).written == 0
    last = (await target.jobs())[0].job_id
    job = await target.ingest(
        write_book({"new.md": "# New\n\nA new page about pumps."}), book_id="pumps"
    )
    assert job.job_id > last and job.files_processed == 1


async def test_a_move_that_was_interrupted_goes_on(
    library: Library, target: Library, write_book: WriteBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(library, write_book)
    monkeypatch.setattr(store_module, "PAGE", 3)
    store: Any = await target.store()
    replace, calls = store.replace, 0

    async def failing(*args: Any, **more: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise StoreError("The index can't be reached.", action="Try again.")
        await replace(*args, **more)

    monkeypatch.setattr(store, "replace", failing)
    with pytest.raises(StoreError):
        await migrate(library, target)
    arrived = len(await content_of(target, "pumps"))
    assert arrived == 3
    # The book changes before the move goes on.
    root = write_book({"part-0.md": "# Part 0\n\nThis page is another one now, about pumps."})
    await library.ingest(root, book_id="pumps")
    moved = await migrate(library, target)
    await check_same(library, target)
    assert moved.written >= len(await content_of(library, "pumps")) - arrived
    await check_invariants(target, "pumps")
