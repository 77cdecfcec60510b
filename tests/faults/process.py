"""`bythebook serve` as a process of its own that can be killed and started again."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from extent import PATIENCE

# One address for all starts would have to be free each time; so each start has its own.
SERVE = ("-m", "bythebook", "serve", "--port", "0")
QUICK = {
    "BYTHEBOOK_RATE_LIMIT": "0",
    "BYTHEBOOK_EMBEDDING_THREADS": "1",
    "BYTHEBOOK_LOG_FORMAT": "text",
    "BYTHEBOOK_SHUTDOWN_SECONDS": "5",
}


class ServiceProcess:
    """One start of the service, listening at `url`."""

    def __init__(
        self,
        home: Path,
        environment: dict[str, str] | None = None,
        *,
        command: Sequence[str] = SERVE,
        prefix: Sequence[str] = (),
    ) -> None:
        self.own = subprocess.Popen(
            [*prefix, sys.executable, *command],
            env={**os.environ, "BYTHEBOOK_HOME": str(home), **QUICK, **(environment or {})},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.own.stderr is not None
        self.said: list[str] = []
        self.url = ""
        for line in self.own.stderr:
            self.said.append(line)
            if found := re.search(r"listens on (http://\S+)", line):
                self.url = found[1]
                break
        # A pipe that nobody reads would hold the service up.
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    @property
    def pid(self) -> int:
        return self.own.pid

    @property
    def log(self) -> str:
        return "".join(self.said)

    def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Its exit status."""
        if self.own.poll() is None:
            self.own.send_signal(number)
        code = self.own.wait(PATIENCE)
        self._reading.join()
        return code

    def _read(self) -> None:
        assert self.own.stderr is not None
        with self.own.stderr as pipe:
            self.said.extend(pipe)


def client(service: ServiceProcess, key: str = "") -> httpx.AsyncClient:
    headers = {"X-API-Key": key} if key else {}
    return httpx.AsyncClient(base_url=service.url, timeout=PATIENCE, headers=headers)


@asynccontextmanager
async def service_process(
    home: Path,
    environment: dict[str, str] | None = None,
    *,
    command: Sequence[str] = SERVE,
    prefix: Sequence[str] = (),
    key: str = "",
) -> AsyncIterator[tuple[ServiceProcess, httpx.AsyncClient]]:
    """A running service and a client; it is killed at the end unless it has ended."""
    own = await asyncio.to_thread(
        lambda: ServiceProcess(home, environment, command=command, prefix=prefix)
    )
    try:
        assert own.url, own.log
        async with client(own, key) as http:
            yield own, http
    finally:
        await asyncio.to_thread(own.end)
