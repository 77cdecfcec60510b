"""The service never takes more connections than the system lets it open files."""

from __future__ import annotations

import subprocess
import sys

import pytest

ASK = (
    "import resource\n"
    "from bythebook.server.connection import connection_limit\n"
    "resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
    "print(connection_limit(1000), resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
)


@pytest.mark.parametrize(
    ("soft", "hard", "room", "files"),
    [(1700, 1700, 1000, 1700), (256, 1600, 1000, 1500), (256, 1200, 700, 1200), (64, 64, 32, 64)],
)
def test_connections_fit_the_files(soft: int, hard: int, room: int, files: int) -> None:
    said = subprocess.run(
        [sys.executable, "-c", ASK.format(soft=soft, hard=hard)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == [str(room), str(files)]
    assert ("ulimit" in said.stderr) == (room < 1000)
