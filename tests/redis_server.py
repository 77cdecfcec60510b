"""A real Redis for the tests: Debian's `redis-server` on a free port, with nothing kept on disk."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from shared_server import free_port, give_up


class RedisServer:
    """A server that can be stopped and started again at the same address."""

    def __init__(self, folder: Path, password: str = "") -> None:
        self.command = _command()
        self.folder = folder
        self.password = password
        self.port = free_port()
        self.process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"redis://{f':{self.password}@' if self.password else ''}127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.folder),
            "save": "",
            "appendonly": "no",
            "daemonize": "no",
            "requirepass": self.password,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        self.process = subprocess.Popen(
            [self.command, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout
        said = ""
        for line in self.process.stdout:
            if "Ready to accept connections" in line:
                return
            said += line
        self.stop()
        pytest.fail(f"The Redis server did not start:\n{said[-2000:]}")

    def stop(self) -> None:
        if self.process is not None:
            with self.process as process:  # waits for its end
                process.terminate()
            self.process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _command() -> str:
    found = shutil.which("redis-server")
    if found is None:
        give_up("There is no redis-server; install the Debian package of that name.")
    return found
