"""What only the embedded index has: a lock, a log, crashes, panics, and one owning thread."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import qdrant_edge

from bythebook.errors import BusyError, DiskFull, InputError, StoreError
from bythebook.index import edge, edge_folder, edge_recovery
from bythebook.index.edge import EdgeStore
from bythebook.index.edge_index import EdgeIndex
from bythebook.index.qdrant_models import PointStruct
from bythebook.index.store import Reads
from extent import PATIENCE
from index.index_samples import DIMENSION, SAMPLES, dense, point_id, sample, sparse, where


@pytest.fixture
def folder(quick_path: Path) -> Path:
    return quick_path / "index"


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[EdgeStore]:
    store = EdgeStore(folder)
    await store.open(DIMENSION)
    await store.replace(SAMPLES, [])
    yield store
    await store.close()


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in another process, with the folder as its argument."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(folder)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )


async def test_a_second_process_is_told(store: EdgeStore, folder: Path) -> None:
    other = run(
        """
        import asyncio, pathlib, sys
        from bythebook.errors import BusyError
        from bythebook.index.edge import EdgeStore

        async def main():
            store = EdgeStore(pathlib.Path(sys.argv[1]))
            for attempt in (lambda: store.open(8), store.drop, lambda: store.recover(8)):
                try:
                    await attempt()
                except BusyError as error:
                    print(error)

        asyncio.run(main())
        """,
        folder,
    )
    lines = other.stdout.splitlines()
    assert len(lines) == 3, other.stderr
    for line in lines:
        assert line.startswith("Another bythebook is using this data folder, and this needs it")
    assert await store.count() == 60


async def test_a_second_store_in_this_process_is_told(store: EdgeStore, folder: Path) -> None:
    second = EdgeStore(folder)
    with pytest.raises(BusyError):
        await second.open(DIMENSION)
    await second.close()
    await store.close()
    await second.open(DIMENSION)
    assert await second.count() == 60
    await second.close()


def test_use_after_a_fork_is_an_error(folder: Path) -> None:
    """In another process, because a test process with threads must not be forked."""
    child = run(
        """
        import asyncio, os, pathlib, sys
        from bythebook.errors import StoreError
        from bythebook.index.edge import EdgeStore

        store = EdgeStore(pathlib.Path(sys.argv[1]))
        asyncio.run(store.open(8))
        pid = os.fork()
        if pid == 0:
            try:
                asyncio.run(store.count())
            except StoreError as error:
                print(error, flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        print("parent", asyncio.run(store.count()))
        asyncio.run(store.close())
        """,
        folder,
    )
    assert "before this process was forked off" in child.stdout, child.stderr
    assert "parent 0" in child.stdout


async def panic(store: EdgeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a vector past the checks that makes the engine panic."""
    with monkeypatch.context() as patch:
        patch.setattr(edge, "check_points", lambda *_: None)
        patch.setattr(
            edge,
            "to_point",
            lambda point: qdrant_edge.Point(
                point.id,
                {"dense": dense(1), "bm25": qdrant_edge.SparseVector([1, 2, 3], [1.0])},
                {},
            ),
        )
        with pytest.raises(StoreError, match="engine failed"):
            await store.replace([sample(200)], [])


@pytest.mark.parametrize("after", ["wal", "pending"])
async def test_a_panic_closes_the_store_and_recover_brings_it_back(
    store: EdgeStore,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    after: str,
) -> None:
    await panic(store, monkeypatch)
    with pytest.raises(StoreError, match="not opened again"):
        await store.count()
    await store.close()
    with pytest.raises(StoreError) as caught:
        await store.open(DIMENSION)
    assert "bythebook doctor" in str(caught.value)
    if after == "pending":
        edge_recovery.write_journal(folder, [sample(300)], [point_id(0)])
    recovery = await store.recover(DIMENSION)
    assert (recovery.points, recovery.lost) == (60, 0)
    assert recovery.kept_at.is_dir()
    assert list(recovery.kept_at.glob("wal.aside-*"))
    await store.open(DIMENSION)
    if after == "pending":
        assert await store.retrieve([point_id(0)]) == []
        assert len(await store.retrieve([point_id(300)])) == 1
    # The engine drops writes to a folder whose log was taken away; this one takes them.
    await store.replace([sample(100)], [point_id(1)])
    await store.delete(where("book_id", "atlas"))
    assert await store.count(where("book_id", "botany")) == 29
    assert await store.count() == 29


async def test_a_sound_store_is_recovered_whole(store: EdgeStore) -> None:
    await store.close()
    recovery = await store.recover(DIMENSION)
    assert (recovery.points, recovery.lost) == (60, 0)
    await store.open(DIMENSION)
    (record,) = await store.retrieve([point_id(5)])
    assert record.payload == SAMPLES[5].payload


async def test_there_must_be_something_to_recover(folder: Path) -> None:
    store = EdgeStore(folder)
    with pytest.raises(StoreError, match="no index"):
        await store.recover(DIMENSION)
    await store.close()


def _segments(folder: Path) -> list[Path]:
    return [path for path in (folder / "segments").rglob("*") if path.is_file()]


DAMAGE: dict[str, Any] = {
    "log removed": lambda f: shutil.rmtree(f / "wal"),
    "log garbled": lambda f: [p.write_bytes(b"\xff" * 5000) for p in (f / "wal").iterdir()],
    "segment removed": lambda f: shutil.rmtree(next((f / "segments").iterdir())),
    "segments removed": lambda f: shutil.rmtree(f / "segments"),
    "configuration garbled": lambda f: (f / "edge_config.json").write_text('{"x'),
    "segment garbled": lambda f: [
        p.write_bytes(b"\xff" * 100) for p in _segments(f) if p.suffix != ".json"
    ],
    "vectors removed": lambda f: shutil.rmtree(next(f.glob("segments/*/vector_storage-dense"))),
    "journal garbled": lambda f: (f / "pending.json").write_text("{"),
    "note garbled": lambda f: (f / "bythebook.json").write_text("{"),
    "note of another kind": lambda f: (f / "bythebook.json").write_text("7"),
}


@pytest.mark.parametrize("kind", DAMAGE)
async def test_damage_is_explained(
    store: EdgeStore, folder: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    await store.close()
    DAMAGE[kind](folder)
    with pytest.raises(StoreError) as caught:
        await store.open(DIMENSION)
    text = str(caught.value)
    assert str(folder) in text
    assert "bythebook doctor" in text
    await store.close()
    # Whatever happened, building it again works.
    await store.drop()
    await store.open(DIMENSION)
    await store.replace(SAMPLES, [])
    assert await store.count() == 60


async def test_recover_says_when_nothing_is_left(store: EdgeStore, folder: Path) -> None:
    await store.close()
    DAMAGE["segment garbled"](folder)
    before = sorted(path.name for path in (folder / "segments").iterdir())
    recovery = await store.recover(DIMENSION)
    assert (recovery.points, recovery.lost) == (0, None)
    kept = recovery.kept_at / "segments"
    assert sorted(path.name for path in kept.iterdir()) == before
    await store.open(DIMENSION)
    assert await store.count() == 0


async def test_a_write_the_engine_drops_is_noticed(store: EdgeStore, folder: Path) -> None:
    """With a new log the engine counts writes from the start and takes them for old ones."""
    for number in range(60):
        await store.replace([sample(number)], [], durable=False)
    await store.close()
    shutil.rmtree(folder / "wal")
    (folder / "wal").mkdir()
    (folder / "wal" / "left").touch()
    await store.open(DIMENSION)
    with pytest.raises(StoreError, match="did not take a write"):
        await store.replace([], [point_id(1)])
    await store.close()
    await store.recover(DIMENSION)
    await store.open(DIMENSION)
    await store.replace([], [point_id(1)])
    assert await store.count() == 59


async def test_writes_happen_in_the_order_in_which_they_came(store: EdgeStore) -> None:
    """Each takes away what the one before wrote; the bigger ones take longer to prepare."""
    numbers = range(100, 130)
    many = [sample(number) for number in range(1000, 1200)]
    await asyncio.gather(
        *(
            store.replace([sample(number), *(many if number % 2 else [])], [point_id(number - 1)])
            for number in numbers
        )
    )
    assert await store.count() == 60 + len(many) + 1
    assert [found.id for found in await store.retrieve([point_id(n) for n in numbers])] == [
        point_id(numbers[-1])
    ]


async def test_a_cancelled_write_is_done_or_not_begun(store: EdgeStore) -> None:
    tasks = [
        asyncio.create_task(store.replace([sample(number)], [point_id(number - 1)]))
        for number in range(100, 130)
    ]
    await asyncio.sleep(0.005)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    count = await store.count()
    assert 60 <= count <= 61
    assert (await store.info()).healthy


async def test_optimize_takes_deleted_points_away(folder: Path) -> None:
    store = EdgeStore(folder)
    await store.open(DIMENSION)
    await store.replace([sample(number) for number in range(3000)], [])
    before = json.loads((folder / "bythebook.json").read_text())
    await store.delete(where("book_id", "atlas"))
    await store.optimize()
    assert await store.count() == 1500
    after = json.loads((folder / "bythebook.json").read_text())
    assert after != before
    assert {name for name in after if "/" not in name} == {
        part.name for part in (folder / "segments").iterdir()
    }
    await store.close()
    await store.open(DIMENSION)
    assert await store.facet("book_id") == {"botany": 1500}
    await store.close()


async def test_while_serving_only_much_is_taken_away_and_only_quickly(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EdgeStore(folder)
    await store.open(DIMENSION)
    points = [sample(number) for number in range(300)]
    atlas = {point.id for point in points if (point.payload or {})["book_id"] == "atlas"}
    monkeypatch.setattr(edge, "FEW_REMOVED", 700)

    async def recreate() -> bool:
        """Whether the index was rewritten after that."""
        await store.replace(points, [])
        segments = {part.name for part in (folder / "segments").iterdir()}
        await store.delete(where("book_id", "atlas"))
        await store.replace([], [point.id for point in points if point.id not in atlas])
        await store.replace(points, [])
        await store.optimize(serving=True)
        return segments != {part.name for part in (folder / "segments").iterdir()}

    assert [await recreate() for _ in range(4)] == [False, False, True, False]
    monkeypatch.setattr(edge, "QUICKLY_REWRITTEN", 299)
    assert not any([await recreate() for _ in range(3)])
    assert await store.count() == 300
    await store.close()


def test_left_overs_of_a_crash_are_swept(folder: Path) -> None:
    for name in ("index", "index.new-1", "index.dropped-1"):
        (folder.parent / name).mkdir(parents=True)
    store = EdgeStore(folder)
    asyncio.run(store.open(DIMENSION))
    asyncio.run(store.close())
    assert {part.name for part in folder.parent.iterdir()} == {"index", "index.owner"}


async def test_a_segment_that_goes_while_open_is_reported(store: EdgeStore, folder: Path) -> None:
    (folder / "bythebook.json").write_text(json.dumps(["gone"]))
    info = await store.info()
    assert not info.healthy
    assert "missing: 1" in info.status


async def test_a_disk_that_fails_is_explained(
    store: EdgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(edge_recovery, "write_journal", full)
        with pytest.raises(StoreError, match="is full"):
            await store.replace([sample(100)], [point_id(0)])
    assert await store.count() == 60


async def test_a_write_that_met_a_full_disk_is_finished_when_there_is_room(
    store: EdgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(EdgeIndex, "flush", full)
        with pytest.raises(DiskFull):
            await store.replace([sample(100)], [point_id(0)])
        patch.setattr(edge_folder, "make_little_room", full)
        for _ in range(2):
            with pytest.raises(DiskFull):
                await store.count()
    assert await store.count() == 60
    assert await store.retrieve([point_id(0)]) == []


def test_interrupts_are_not_swallowed(tmp_path: Path) -> None:
    for kind in (KeyboardInterrupt, SystemExit):
        with pytest.raises(kind), edge_folder.engine_errors(tmp_path):
            raise kind
    with pytest.raises(InputError), edge_folder.engine_errors(tmp_path):
        raise InputError("as it is")


def test_it_can_be_used_from_one_loop_after_another(folder: Path) -> None:
    store = EdgeStore(folder)
    asyncio.run(store.open(DIMENSION))
    asyncio.run(store.replace(SAMPLES, []))
    assert asyncio.run(store.count()) == 60
    asyncio.run(store.close())


async def test_readers_see_the_old_lesson_or_the_new_one(store: EdgeStore) -> None:
    """Only the embedded index promises this for every reader at every moment."""
    lesson = where("parent_doc_id", "switched")

    def edition(number: int) -> list[PointStruct]:
        return [
            PointStruct(
                id=point_id(f"{number} {part}"),
                vector={"dense": dense(part), "bm25": sparse(part)},
                payload={"parent_doc_id": "switched", "version": number},
            )
            for part in range(number % 3 + 3)
        ]

    done = False
    seen: set[int] = set()

    async def read() -> None:
        while not done:
            records, _ = await store.scroll(lesson)
            versions = {(record.payload or {})["version"] for record in records}
            assert len(versions) == 1
            (version,) = versions
            assert len(records) == version % 3 + 3
            seen.add(version)

    await store.replace(edition(0), [])
    readers = [asyncio.create_task(read()) for _ in range(3)]
    for number in range(1, 30):
        await store.replace(edition(number), [point.id for point in edition(number - 1)])
    done = True
    await asyncio.gather(*readers)
    assert len(seen) > 5


async def test_a_visit_waits_for_nothing_else(store: EdgeStore) -> None:
    async def look(index: Reads) -> None:
        await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="awaits only what it reads"):
        await store.visit(look)
    assert await store.count() == len(SAMPLES)
