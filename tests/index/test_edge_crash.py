"""Processes killed at any moment: what was acknowledged is there, and no lesson is in halves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import qdrant_edge

from bythebook.errors import StoreError
from bythebook.index import edge_recovery
from bythebook.index.edge import EdgeStore
from index.index_samples import DIMENSION, edition, point_id


@pytest.fixture
def folder(quick_path: Path) -> Path:
    return quick_path / "index"


KILLED = """
    import asyncio, os, pathlib, sys
    from bythebook.index.edge import EdgeStore
    from index.index_samples import sample

    async def main():
        store = EdgeStore(pathlib.Path(sys.argv[1]))
        await store.open(8)
        start = await store.count()
        for number in range(start, start + 10_000):
            await store.replace([sample(number)], [], durable=number % 3 == 0)
            print(number, flush=True)

    asyncio.run(main())
"""


def kill_while_running(code: str, folder: Path, lines: int) -> list[str]:
    """Kill -9 once so many lines were printed; everything printed was acknowledged."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-c", textwrap.dedent(code), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        printed += process.stdout.readlines()
    return [line.strip() for line in printed if line.endswith("\n")]


async def test_acknowledged_writes_survive_kill_9(folder: Path) -> None:
    acknowledged: set[str] = set()
    for lines in (3, 17, 40):
        acknowledged |= {point_id(int(line)) for line in kill_while_running(KILLED, folder, lines)}
        store = EdgeStore(folder)
        await store.open(DIMENSION)
        found = {record.id for record in await store.retrieve(sorted(acknowledged))}
        assert found == acknowledged
        await store.close()


SWITCHED = """
    import asyncio, pathlib, sys
    from bythebook.index.edge import EdgeStore
    from index.index_samples import edition

    async def main():
        store = EdgeStore(pathlib.Path(sys.argv[1]))
        await store.open(8)
        records, _ = await store.scroll()
        start = records[0].payload["version"] if records else 0
        old = [record.id for record in records]
        for number in range(start + 1, start + 10_000):
            await store.replace(edition(number), old)
            old = [point.id for point in edition(number)]
            print(number, flush=True)

    asyncio.run(main())
"""


def whole(payloads: list[dict[str, Any]]) -> int:
    versions = {payload["version"] for payload in payloads}
    assert len(versions) == 1
    (version,) = versions
    assert isinstance(version, int)
    assert len(payloads) == 3 + version % 5
    return version


async def test_a_lesson_is_whole_after_kill_9(folder: Path) -> None:
    for lines in (2, 11, 23, 8):
        printed = kill_while_running(SWITCHED, folder, lines)
        store = EdgeStore(folder)
        await store.open(DIMENSION)
        records, _ = await store.scroll()
        assert whole([record.payload or {} for record in records]) >= int(printed[-1])
        await store.close()


@pytest.mark.parametrize("stage", ["before", "between", "after"])
async def test_an_interrupted_switch_is_finished_at_the_next_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    store = EdgeStore(folder)
    await store.open(DIMENSION)
    await store.replace(edition(1), [])
    old = [point.id for point in edition(1)]

    real = qdrant_edge.UpdateOperation

    class Failing:
        upsert_points = real.upsert_points
        delete_points = real.delete_points

    def fail(*_: object) -> None:
        raise RuntimeError("killed here")

    with monkeypatch.context() as patch:
        if stage == "after":
            patch.setattr(edge_recovery, "clear_journal", fail)
        else:
            name = "upsert_points" if stage == "before" else "delete_points"
            patch.setattr(Failing, name, fail)
            patch.setattr(qdrant_edge, "UpdateOperation", Failing)
        with pytest.raises(StoreError):
            await store.replace(edition(2), old)
    # Until it is whole again nobody is served from it.
    with pytest.raises(StoreError, match="not opened again"):
        await store.count()
    await store.close()
    await store.open(DIMENSION)
    records, _ = await store.scroll()
    assert whole([record.payload or {} for record in records]) == 2
    assert not (folder / "pending.json").exists()
    await store.close()
