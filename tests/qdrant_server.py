"""A real Qdrant server for the tests: the one QDRANT_URL names, else one started here.

All workers of a parallel run share one server; the last one to finish stops it.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from extent import PATIENCE
from shared_server import State, free_port, give_up, room_in_memory, shared_server

_BINARY = Path(__file__).parent.parent / ".tools" / "qdrant"
# Where Debian keeps the libraries of another processor.
_LIBRARIES = "/usr/x86_64-linux-gnu"


@contextmanager
def qdrant_server(shared: Path) -> Iterator[str]:
    """Address of a server; `shared` is a folder that all workers of this run see."""
    given = os.environ.get("QDRANT_URL")
    if given:
        yield given
        return
    with shared_server("qdrant", shared, lambda: _start(_command(), shared), _stop) as url:
        yield url


def _command() -> list[str]:
    if not _BINARY.exists():
        give_up("There is no Qdrant server; run scripts/get_qdrant.sh or set QDRANT_URL.")
    if platform.machine() in {"x86_64", "AMD64"}:
        return [str(_BINARY)]
    emulator = shutil.which("qemu-x86_64-static")
    if emulator is None:
        give_up("The Qdrant server needs qemu-user-static here; run scripts/get_qdrant.sh.")
    return [str(emulator), "-L", _LIBRARIES, str(_BINARY)]


def _start(command: list[str], folder: Path) -> State:
    storage = tempfile.mkdtemp(dir=room_in_memory() or folder, prefix="qdrant-")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "QDRANT__SERVICE__HOST": "127.0.0.1",
        "QDRANT__SERVICE__HTTP_PORT": str(port),
        "QDRANT__SERVICE__GRPC_PORT": str(free_port()),
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
    return {"url": url, "pid": pid, "storage": storage}


def _stop(state: State) -> None:
    os.kill(state["pid"], signal.SIGTERM)
    shutil.rmtree(state["storage"], ignore_errors=True)


def _wait(url: str, pid: int, log: Path) -> None:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + PATIENCE
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
