"""A real Qdrant server for the tests: the one QDRANT_URL names, else one started here.

All workers of a parallel run share one server; the last one to finish stops it.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

_BINARY = Path(__file__).parent.parent / ".tools" / "qdrant"
_SECONDS_TO_START = 120


@contextmanager
def qdrant_server(shared: Path) -> Iterator[str]:
    """Address of a server; `shared` is a folder that all workers of this run see."""
    given = os.environ.get("QDRANT_URL")
    if given:
        yield given
        return
    command = _command()
    shared.mkdir(parents=True, exist_ok=True)
    note = shared / "qdrant.json"
    lock = FileLock(shared / "qdrant.lock")
    with lock:
        state = _read(note) or _start(command, shared)
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
                os.kill(state["pid"], signal.SIGTERM)
                shutil.rmtree(state["storage"], ignore_errors=True)


def room_in_memory() -> Path | None:
    """A folder that is memory, with room: engines sync dozens of files at each step."""
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > 4 * 1024**3:
        return memory
    return None


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """The same folder in every worker of one run."""
    base = factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


def _command() -> list[str]:
    if not _BINARY.exists():
        _give_up("There is no Qdrant server; run scripts/get_qdrant.sh or set QDRANT_URL.")
    if platform.machine() in {"x86_64", "AMD64"}:
        return [str(_BINARY)]
    emulator = shutil.which("qemu-x86_64-static")
    if emulator is None:
        _give_up("The Qdrant server needs qemu-user-static here; run scripts/get_qdrant.sh.")
    return [str(emulator), str(_BINARY)]


def _give_up(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _read(note: Path) -> dict[str, Any] | None:
    return json.loads(note.read_text()) if note.exists() else None


def _start(command: list[str], folder: Path) -> dict[str, Any]:
    storage = tempfile.mkdtemp(dir=room_in_memory() or folder, prefix="qdrant-")
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "QDRANT__SERVICE__HOST": "127.0.0.1",
        "QDRANT__SERVICE__HTTP_PORT": str(port),
        "QDRANT__SERVICE__GRPC_PORT": str(_free_port()),
        "QDRANT__STORAGE__STORAGE_PATH": storage,
        "QDRANT__STORAGE__SNAPSHOTS_PATH": f"{storage}/snapshots",
        "QDRANT__TELEMETRY_DISABLED": "true",
    }
    # Through a shell, so that the server is no child of the worker that happens to start it.
    line = f"{shlex.join(command)} > qdrant.log 2>&1 & echo $!"
    started = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    pid = int(started.stdout)
    _wait(url, pid, folder / "qdrant.log")
    return {"url": url, "pid": pid, "storage": storage, "users": 0}


def _wait(url: str, pid: int, log: Path) -> None:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            with direct.open(f"{url}/readyz", timeout=5):
                return
        except ProcessLookupError:
            break
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    pytest.fail(f"The Qdrant server did not start:\n{log.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
