"""An index that several processes work with: who gets in, what is the same, who takes over."""

from __future__ import annotations

import asyncio
import json
import pickle
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bythebook.errors import BusyError, ConfigurationError, InputError, StoreError
from bythebook.index import local_rpc, shared_store
from bythebook.index.edge import EdgeStore
from bythebook.index.local_rpc import OwnerGone, RpcClient, unpickle
from bythebook.index.qdrant_models import Filter, PointStruct
from bythebook.index.shared_store import SharedStore
from extent import PATIENCE
from index.index_samples import BOOKS, DIMENSION, SAMPLES, point_id, sample, where


@pytest.fixture
def folder(quick_path: Path) -> Path:
    return quick_path / "index"


@pytest.fixture
async def first(folder: Path) -> AsyncIterator[SharedStore]:
    store = SharedStore(folder)
    await store.open(DIMENSION)
    await store.replace(SAMPLES, [])
    yield store
    await store.close()


@pytest.fixture
async def second(first: SharedStore, folder: Path) -> AsyncIterator[SharedStore]:
    store = SharedStore(folder)
    await store.open(DIMENSION)
    yield store
    await store.close()


async def test_errors_are_the_same_through_the_door(
    first: SharedStore, second: SharedStore
) -> None:
    for store in (first, second):
        with pytest.raises(InputError):
            await store.delete(Filter(must=[]))
        with pytest.raises(ConfigurationError, match="dimension"):
            await store.open(DIMENSION + 1)
        assert await store.count() == len(SAMPLES)


async def test_who_comes_second_takes_over(first: SharedStore, second: SharedStore) -> None:
    points = [sample(number) for number in range(1000, 1040)]

    async def write(point: PointStruct) -> None:
        await second.replace([point], [])

    writing = [asyncio.create_task(write(point)) for point in points]
    await asyncio.sleep(0)
    await first.close()
    await asyncio.gather(*writing)
    assert await second.count() == len(SAMPLES) + len(points)
    await first.open(DIMENSION)  # now as the client of the second
    assert await first.count() == len(SAMPLES) + len(points)


async def test_only_the_owner_can_read_the_note_and_it_goes(
    first: SharedStore, second: SharedStore, folder: Path
) -> None:
    note = folder.with_name("index.door")
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    await second.close()
    assert note.exists()
    await first.close()
    assert not note.exists()


async def test_who_does_not_know_the_secret_learns_nothing(
    first: SharedStore, folder: Path, tmp_path: Path
) -> None:
    known = json.loads(folder.with_name("index.door").read_text())
    forged = tmp_path / "forged.door"
    forged.write_text(json.dumps({**known, "secret": "00" * 32}))
    with pytest.raises(OwnerGone):  # the owner's proof does not fit, and nothing was asked
        await RpcClient(forged).call("count")
    reader, writer = await asyncio.open_connection("127.0.0.1", known["port"])
    writer.write(b"\0" * 32)
    greeting = await reader.readexactly(64)
    assert bytes.fromhex(known["secret"]) not in greeting
    asked = pickle.dumps(("count", (), {}))
    writer.write(b"\0" * 32 + len(asked).to_bytes(8, "big") + asked)
    assert await reader.read() == b""
    writer.close()


async def test_nothing_comes_through_the_door_that_could_do_anything(
    first: SharedStore, folder: Path
) -> None:
    with pytest.raises(pickle.UnpicklingError, match="no class of the index"):
        unpickle(pickle.dumps(Path("/")))
    with pytest.raises(pickle.UnpicklingError, match="no class of the index"):
        unpickle(b"cos\nsystem\n(S'true'\ntR.")
    client = RpcClient(folder.with_name("index.door"))
    with pytest.raises(StoreError, match="There is no 'drop'"):
        await client.call("drop")
    with pytest.raises(StoreError, match="failed"):  # and nobody tries for ever
        await client.call("count", folder)
    client.close()


async def test_a_note_that_leads_to_somebody_else_misleads_nobody(folder: Path) -> None:
    """A process that was killed left it, and its port is another program's now."""

    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(32)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"x" * 64)
        writer.close()

    note = folder.with_name("index.door")
    async with await asyncio.start_server(other, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        left = {"port": port, "secret": "00" * 32, "process": 1, "version": "0.1.0"}
        for content in (json.dumps(left), "", "[]", '{"port": 1}'):
            note.write_text(content)
            store = SharedStore(folder)
            await store.open(DIMENSION)
            assert await store.count() == 0
            await store.close()


async def test_another_version_is_told_so(
    first: SharedStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_rpc, "__version__", "7.0")
    with pytest.raises(BusyError, match=r"this is 7\.0") as told:
        await SharedStore(folder).open(DIMENSION)
    assert "Start the service again" in told.value.action


async def test_a_folder_whose_owner_opens_no_door_is_told_as_that(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_store, "CONNECT_TIMEOUT", 0.2)
    async with asyncio.timeout(PATIENCE):
        own, store = EdgeStore(folder), SharedStore(folder)
        await own.open(DIMENSION)
        with pytest.raises(BusyError, match="shares it with nobody"):
            await store.open(DIMENSION)
        await own.close()
        await store.open(DIMENSION)
        await store.close()


async def test_to_try_in_vain_does_no_harm(folder: Path) -> None:
    """The engine's own lock comes so late that what was open could not be written any more."""
    own = EdgeStore(folder)
    await own.open(DIMENSION)
    await own.replace(SAMPLES, [])
    await own.flush()
    with pytest.raises(BusyError):
        await EdgeStore(folder).open(DIMENSION)
    with pytest.raises(BusyError):
        await EdgeStore(folder).drop()
    with pytest.raises(BusyError):
        await EdgeStore(folder).recover(DIMENSION)
    await own.replace([sample(1000)], [point_id(1)])
    await own.delete(where("book_id", BOOKS[0]))
    await own.flush()
    await own.close()
    await own.open(DIMENSION)
    assert await own.count() == len(SAMPLES) // 2 - 1
    await own.close()
