"""Many at once on one thread, from several engines as from several processes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from bythebook.database.engine import open_database
from bythebook.models.values import new_id
from bythebook.threads import Threads
from threads.thread_tools import names, rows_left, start, stored, turn

EVERYTHING = timedelta(seconds=-60)


@pytest.fixture
async def processes(database_url: str) -> AsyncIterator[list[Threads]]:
    """Threads as five processes have them, each with connections of its own."""
    engines = [await open_database(database_url) for _ in range(5)]
    yield [Threads(engine) for engine in engines]
    for engine in engines:
        await engine.dispose()


@pytest.mark.parametrize(("clients", "each"), [(50, 1), (5, 10)])
async def test_fifty_turns_at_once(processes: list[Threads], clients: int, each: int) -> None:
    thread_id = new_id()

    async def client(number: int) -> None:
        for count in range(each):
            threads = processes[number % len(processes)]
            said = turn(f"{number}.{count}")
            assert await threads.append(thread_id, said, metadata={}, is_new=count == 0)

    await asyncio.gather(*(client(number) for number in range(clients)))
    engine = processes[0].engine
    kept = names(await stored(engine, thread_id))
    for number in range(clients):
        own = [name for name in kept if name.startswith(f"{number}.")]
        assert own == [f"{number}.{count}" for count in range(each)]
    assert len(kept) == 50 and await rows_left(engine) == [1, 0, 50]
    view = await processes[-1].view(thread_id)
    assert view is not None and len(view.messages) == 50


async def test_archiving_beside_turns_loses_nothing(processes: list[Threads]) -> None:
    thread_id, others = new_id(), [new_id() for _ in range(3)]
    first, *appending = processes
    for other in (thread_id, *others):
        await start(first, other)
    done = asyncio.Event()
    moved: list[int] = []

    async def archive() -> None:
        while not done.is_set():
            moved.append(await first.archive_idle(EVERYTHING))
            seen = await first.load(thread_id)
            assert seen is not None and seen.conversation.turns[0].question == "Question 0?"

    async def talk(number: int) -> None:
        for count in range(5):
            said = turn(f"{number}.{count}")
            assert await appending[number].append(thread_id, said, metadata={}, is_new=False)

    archiving = [asyncio.create_task(archive()) for _ in range(2)]
    await asyncio.gather(*(talk(number) for number in range(len(appending))))
    done.set()
    await asyncio.gather(*archiving)
    kept = names(await stored(first.engine, thread_id))
    assert len(kept) == 21 and len(set(kept)) == 21 and sum(moved) >= 4
    live, archived, _ = await rows_left(first.engine)
    assert live + archived == 4
    thread = await first.load(thread_id)
    assert thread is not None and thread.metadata == {"by": "me"}


async def test_what_is_used_again_is_not_archived(processes: list[Threads]) -> None:
    long_ago = datetime(2025, 12, 17, tzinfo=UTC)
    ids = [new_id() for _ in range(20)]
    first, second, *_ = processes
    for thread_id in ids:
        await first.append(thread_id, turn("old", long_ago), metadata={}, is_new=True)

    async def use() -> None:
        for thread_id in reversed(ids):
            assert await second.append(thread_id, turn("new"), metadata={}, is_new=False)

    await asyncio.gather(first.archive_idle(timedelta(hours=1)), use())
    assert await first.archive_idle(timedelta(hours=1)) == 0
    assert await rows_left(first.engine) == [20, 0, 0]
    for thread_id in ids:
        assert names(await stored(first.engine, thread_id)) == ["old", "new"]


@pytest.mark.parametrize("archived", [False, True])
async def test_deleting_beside_turns_deletes(processes: list[Threads], archived: bool) -> None:
    engine = processes[0].engine
    for _ in range(8):
        thread_id = new_id()
        await start(processes[0], thread_id, 26)
        if archived:
            await processes[0].archive_idle(EVERYTHING)
        *kept, deleted = await asyncio.gather(
            *(
                threads.append(thread_id, turn("more"), metadata={}, is_new=False)
                for threads in processes[:4]
            ),
            processes[4].delete(thread_id),
        )
        assert deleted is True and set(kept) <= {True, False}
        assert await processes[0].load(thread_id) is None
        assert await rows_left(engine) == [0, 0, 0]


async def test_it_is_deleted_once(processes: list[Threads]) -> None:
    thread_id = new_id()
    await start(processes[0], thread_id)
    found = await asyncio.gather(
        *(threads.delete(thread_id) for threads in processes),
        processes[0].archive_idle(EVERYTHING),
    )
    assert sum(found[:-1]) == 1 and await rows_left(processes[0].engine) == [0, 0, 0]


WRITER = """
import asyncio, sys
from bythebook.database.engine import open_database
from bythebook.threads import Threads
from threads.thread_tools import turn

async def main(url, thread_id, name):
    engine = await open_database(url)
    for count in range(10):
        said = turn(f"{name}.{count}")
        assert await Threads(engine).append(thread_id, said, metadata={}, is_new=True)
    await engine.dispose()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_real_processes_at_once(database_url: str) -> None:
    thread_id = new_id()
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, database_url, thread_id, name, cwd="tests"
        )
        for name in "abc"
    ]
    assert [await writer.wait() for writer in writers] == [0, 0, 0]
    engine = await open_database(database_url)
    kept = names(await stored(engine, thread_id))
    for name in "abc":
        assert [kind for kind in kept if kind[0] == name] == [f"{name}.{n}" for n in range(10)]
    assert len(kept) == 30 and await rows_left(engine) == [1, 0, 10]
    await engine.dispose()
