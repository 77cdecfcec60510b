"""What the real servers of the tests have in common: one for all workers, and no silent skips."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from filelock import FileLock

State = dict[str, Any]


@contextmanager
def shared_server(
    name: str, folder: Path, start: Callable[[], State], stop: Callable[[State], None]
) -> Iterator[str]:
    """Address (`url`) of a server that the first worker starts and the last one stops; `folder` is
    one that all workers of this run see."""
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / f"{name}.json"
    lock = FileLock(folder / f"{name}.lock")
    with lock:
        state = json.loads(note.read_text()) if note.exists() else {**start(), "users": 0}
        state["users"] += 1
        note.write_text(json.dumps(state))
    try:
        yield state["url"]
    finally:
        with lock:
            state = json.loads(note.read_text())
            state["users"] -= 1
            if state["users"]:
                note.write_text(json.dumps(state))
            else:
                note.unlink()
                stop(state)


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """The same folder in every worker of one run."""
    base = factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


def room_in_memory() -> Path | None:
    """A folder that is memory, with room: engines sync dozens of files at each step."""
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > 4 * 1024**3:
        return memory
    return None


def give_up(reason: str) -> NoReturn:
    """Skip, and say why; in CI nothing may be skipped."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
