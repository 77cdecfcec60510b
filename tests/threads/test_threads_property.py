"""Any sequence of turns, archiving, deleting and restarts leaves what a simple model says."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bythebook.database.engine import open_database
from bythebook.models.values import new_id
from bythebook.threads import Threads
from extent import examples
from threads.thread_tools import names, rows_left, stored, turn

EVERYTHING = timedelta(seconds=-60)
WHICH = st.integers(0, 1)
STEPS = st.one_of(
    st.tuples(st.just("append"), WHICH, st.booleans(), st.integers(1, 14)),
    st.tuples(st.just("delete"), WHICH),
    st.tuples(st.just("archive")),
    st.tuples(st.just("restart")),
)


@dataclass
class Model:
    """What should be there: the turns of each thread, and which threads are archived."""

    turns: dict[str, list[str]] = field(default_factory=dict)
    archived: set[str] = field(default_factory=set)

    async def append(self, threads: Threads, thread_id: str, is_new: bool, times: int) -> None:
        for _ in range(times):
            name = new_id()
            expected = is_new or thread_id in self.turns
            kept = await threads.append(thread_id, turn(name), metadata={}, is_new=is_new)
            assert kept == expected
            if kept:
                self.turns.setdefault(thread_id, []).append(name)
                self.archived.discard(thread_id)

    async def delete(self, threads: Threads, thread_id: str) -> None:
        assert await threads.delete(thread_id) == (thread_id in self.turns)
        self.turns.pop(thread_id, None)
        self.archived.discard(thread_id)

    async def archive(self, threads: Threads) -> None:
        assert await threads.archive_idle(EVERYTHING) == len(self.turns.keys() - self.archived)
        self.archived = set(self.turns)

    async def check(self, threads: Threads, thread_id: str) -> None:
        loaded, view = await threads.load(thread_id), await threads.view(thread_id)
        if thread_id not in self.turns:
            assert loaded is None and view is None
            return
        turns = self.turns[thread_id]
        assert names(await stored(threads.engine, thread_id)) == turns
        assert loaded is not None and view is not None
        assert loaded.is_archived == (thread_id in self.archived)
        assert loaded.conversation.count == len(turns)
        assert len(view.messages) == 2 * min(25, len(turns))
        assert bool(view.topic_summary) == (len(turns) >= 5)


@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(STEPS, max_size=12))
async def test_any_sequence_of_steps(database_url: str, steps: list[Any]) -> None:
    ids, model = [new_id(), new_id()], Model()
    threads = Threads(await open_database(database_url))
    for kind, *how in steps:
        if kind == "append":
            await model.append(threads, ids[how[0]], *how[1:])
        elif kind == "delete":
            await model.delete(threads, ids[how[0]])
        elif kind == "archive":
            await model.archive(threads)
        else:
            await threads.engine.dispose()
            threads = Threads(await open_database(database_url))
        for thread_id in ids:
            await model.check(threads, thread_id)
    for thread_id in ids:
        await threads.delete(thread_id)
    assert await rows_left(threads.engine) == [0, 0, 0]
    await threads.engine.dispose()
