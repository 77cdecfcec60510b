"""A name server of one name, which gives other addresses each time it is asked."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest

from extent import PATIENCE

IPV4 = 1


def own_address() -> str:
    """One that no other process of these tests has."""
    high, low = divmod(os.getpid(), 250)
    return f"127.{53 + high // 250 % 100}.{high % 250}.{1 + low}"


ADDRESS = own_address()


class NameServer(threading.Thread):
    """Each answer has the next of these lists of addresses, to be forgotten at once."""

    def __init__(self, answers: Sequence[Sequence[str]]) -> None:
        super().__init__(daemon=True)
        self.answers = cycle(answers)
        self.given: list[tuple[str, ...]] = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.bind((ADDRESS, 53))
        except OSError:  # no right to the port
            self.socket.close()
            raise

    def run(self) -> None:
        while True:
            try:
                query, asker = self.socket.recvfrom(4096)
            except OSError:
                return
            if not query:
                return
            self.socket.sendto(self._answer(query), asker)

    def _answer(self, query: bytes) -> bytes:
        end = query.index(b"\0", 12) + 5  # behind the name: its type and class
        (kind,) = struct.unpack_from(">H", query, end - 4)
        addresses = tuple(next(self.answers)) if kind == IPV4 else ()
        if kind == IPV4:
            self.given.append(addresses)
        head = struct.pack(">2sHHHHH", query[:2], 0x8180, 1, len(addresses), 0, 0)
        records = b"".join(
            struct.pack(">HHHIH4s", 0xC00C, IPV4, 1, 0, 4, socket.inet_aton(address))
            for address in addresses
        )
        return head + query[12:end] + records

    def end(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", (ADDRESS, 53))
        self.join()
        self.socket.close()


@contextmanager
def names(answers: Sequence[Sequence[str]]) -> Iterator[NameServer]:
    """The test is skipped where only the system's administrator may do this."""
    try:
        server = NameServer(answers)
    except OSError as problem:
        pytest.skip(f"A name server needs port 53: {problem}.")
    server.start()
    try:
        yield server
    finally:
        server.end()


def with_names(
    folder: Path, command: Sequence[str], **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a program that asks this name server, by a file of its own in place of the system's."""
    resolv = folder / "resolv.conf"
    resolv.write_text(f"nameserver {ADDRESS}\noptions timeout:5 attempts:2\n", encoding="utf-8")
    own = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"']
    ended = subprocess.run(
        [*own, str(resolv), *command],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if "unshare failed" in ended.stderr or "permission denied" in ended.stderr:
        pytest.skip(f"A name server of its own needs root: {ended.stderr.strip()}")
    return ended
