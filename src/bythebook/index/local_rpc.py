"""Calls to the embedded index from other processes of the same user.

The process that has the index open listens on a loopback port and writes port and secret to an
address file that only the home's owner can read. Client and server first prove to each other that
they know the secret, so neither another account's process nor a program that was given the port of
one that died learns anything. A process that was killed leaves its address file behind: it names a
port where nobody knows its secret.
"""

from __future__ import annotations

import asyncio
import hmac
import io
import json
import logging
import os
import pickle
import secrets
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bythebook import __version__, errors
from bythebook.errors import BookError, BusyError, StoreError
from bythebook.index import qdrant_models
from bythebook.index.store import StoreInfo

if TYPE_CHECKING:
    from bythebook.index.edge import EdgeStore


logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
# Of a secret, of a nonce, and of a proof.
KEY_BYTES = 32
LENGTH_BYTES = 8
HANDSHAKE_TIMEOUT = 10.0
# Seconds between empty answers while a call runs, and until a client gives up without one.
HEARTBEAT = 1.0
ANSWER_TIMEOUT = 60.0
CALLS = frozenset(
    "open replace delete flush optimize query_batch retrieve scroll count facet info".split()
)
DATA_CLASSES = {
    name: value
    for name, value in vars(qdrant_models).items()
    if isinstance(value, type) and value.__module__ == qdrant_models.__name__
}


class OwnerGone(Exception):
    """The process that had the index open does not serve it any more."""


class RpcServer:
    """Serves an open index to other processes."""

    def __init__(self, path: Path, store: EdgeStore) -> None:
        self._address = path
        self._store = store
        self._secret = secrets.token_bytes(KEY_BYTES)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: set[StreamWriter] = set()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, LOOPBACK, 0)
        port = self._server.sockets[0].getsockname()[1]
        content = {
            "port": port,
            "secret": self._secret.hex(),
            "process": os.getpid(),
            "version": __version__,
        }
        draft = self._address.with_name(f"{self._address.name}.draft")
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600, exist_ok=False)  # before there is anything to read
        draft.write_text(json.dumps(content), encoding="utf-8")
        draft.replace(self._address)

    async def close(self) -> None:
        """Calls that have begun are finished first."""
        if self._server is None:
            return
        with suppress(OwnerGone, OSError):
            if _read_address(self._address).secret == self._secret:
                self._address.unlink()
        self._server.close()
        self._server = None
        for writer in self._idle:
            writer.close()
        if self._tasks:  # a client that hangs does not hold the others up for ever
            await asyncio.wait(self._tasks, timeout=ANSWER_TIMEOUT)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._idle.add(writer)
        try:
            async with asyncio.timeout(HANDSHAKE_TIMEOUT):
                await self._handshake(reader, writer)
            while self._server is not None:
                request = await _read(reader)
                self._idle.discard(writer)
                await self._answer(request, writer)
                self._idle.add(writer)
        except (OwnerGone, OSError, EOFError):
            pass  # the client left, or does not know the secret
        finally:
            self._idle.discard(writer)
            self._tasks.discard(task)
            writer.close()

    async def _handshake(self, reader: StreamReader, writer: StreamWriter) -> None:
        theirs, ours = await reader.readexactly(KEY_BYTES), secrets.token_bytes(KEY_BYTES)
        writer.write(ours + _proof(self._secret, b"owner", theirs, ours))
        proof = await reader.readexactly(KEY_BYTES)
        if not hmac.compare_digest(proof, _proof(self._secret, b"guest", theirs, ours)):
            raise OwnerGone

    async def _answer(self, request: bytes, writer: StreamWriter) -> None:
        work = asyncio.ensure_future(self._do(request))
        try:
            while not (await asyncio.wait({work}, timeout=HEARTBEAT))[0]:
                await _write(writer, b"")
            await _write(writer, work.result())
        finally:
            if not work.done():  # the client left; the call is finished all the same
                await asyncio.wait({work})

    async def _do(self, request: bytes) -> bytes:
        problem: BookError
        try:
            name, args, kwargs = unpickle(request)
            if name not in CALLS:
                raise StoreError(f"There is no {name!r}.", action="This is a bug; report it.")
            return pickle.dumps((await getattr(self._store, name)(*args, **kwargs), None))
        except BookError as known:
            problem = known
        except Exception:
            logger.exception("The index failed for another process")
            problem = StoreError(
                "The bythebook that has the index open failed.",
                action="Its log says why; if it is not mended by starting it again, report it.",
            )
        names = [each.__name__ for each in type(problem).__mro__]
        name = next(name for name in names if hasattr(errors, name))
        return pickle.dumps((None, (name, problem.message, problem.action, problem.details)))


class RpcClient:
    """Calls the process that has the index open; concurrent calls have a connection each."""

    def __init__(self, path: Path) -> None:
        self._address = path
        self._idle: list[tuple[StreamReader, StreamWriter]] = []

    async def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Raises OwnerGone when nobody serves; the call may have been done all the same."""
        request = pickle.dumps((name, args, kwargs))
        reader, writer = self._idle.pop() if self._idle else await self._connected()
        try:
            await _write(writer, request)
            while not (answer := await asyncio.wait_for(_read(reader), ANSWER_TIMEOUT)):
                pass
        except BaseException as problem:
            writer.close()
            if isinstance(problem, TimeoutError):
                raise _no_answer(self._address) from problem
            if isinstance(problem, OSError | EOFError):
                raise OwnerGone from problem
            raise
        self._idle.append((reader, writer))
        found, failure = unpickle(answer)
        if failure is not None:
            kind, message, action, details = failure
            raise getattr(errors, kind)(message, action=action, details=details)
        return found

    def close(self) -> None:
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()

    async def _connected(self) -> tuple[StreamReader, StreamWriter]:
        address = _read_address(self._address)
        writer = None
        try:
            reader, writer = await asyncio.open_connection(LOOPBACK, address.port)
            async with asyncio.timeout(HANDSHAKE_TIMEOUT):
                await _client_handshake(address.secret, reader, writer)
        except BaseException as problem:
            if writer is not None:
                writer.close()
            if isinstance(problem, OSError | EOFError):  # silent, or gone
                raise OwnerGone from problem
            raise
        if address.version != __version__:
            writer.close()
            raise BusyError(
                f"bythebook {address.version} has the index open, and this is {__version__}.",
                action="Start the service again, so that both are the same version.",
            )
        return reader, writer


@dataclass(frozen=True)
class _Address:
    port: int
    secret: bytes
    process: int
    version: str


def _read_address(path: Path) -> _Address:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        secret = bytes.fromhex(content["secret"])
        return _Address(content["port"], secret, content["process"], content["version"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise OwnerGone from problem


def _no_answer(path: Path) -> BusyError:
    try:
        who = f" (process {_read_address(path).process})"
    except OwnerGone:
        who = ""
    return BusyError(
        f"The bythebook that has the index open{who} does not answer.",
        action="End it, then try again.",
    )


async def _client_handshake(secret: bytes, reader: StreamReader, writer: StreamWriter) -> None:
    ours = secrets.token_bytes(KEY_BYTES)
    writer.write(ours)
    theirs, proof = await reader.readexactly(KEY_BYTES), await reader.readexactly(KEY_BYTES)
    if not hmac.compare_digest(proof, _proof(secret, b"owner", ours, theirs)):
        raise OwnerGone
    writer.write(_proof(secret, b"guest", ours, theirs))


def _proof(secret: bytes, who: bytes, client_nonce: bytes, server_nonce: bytes) -> bytes:
    return hmac.digest(secret, who + client_nonce + server_nonce, "sha256")


async def _write(writer: StreamWriter, content: bytes) -> None:
    writer.write(len(content).to_bytes(LENGTH_BYTES, "big") + content)
    await writer.drain()


async def _read(reader: StreamReader) -> bytes:
    length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
    return await reader.readexactly(length)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module == qdrant_models.__name__ and name in DATA_CLASSES:
            return DATA_CLASSES[name]
        if (module, name) == (StoreInfo.__module__, StoreInfo.__name__):
            return StoreInfo
        raise pickle.UnpicklingError(f"{module}.{name} is no class of the index")


def unpickle(content: bytes) -> Any:
    """Refuses all but plain data and the classes of the index."""
    return _Unpickler(io.BytesIO(content)).load()
