"""An ingest in a process of its own, killed after a while.

The process is forked from one that has imported everything, since what is tested begins after that.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from multiprocessing.connection import Connection
from pathlib import Path

from bythebook.library import Library
from bythebook.settings import Settings

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("bythebook.library", "bythebook.index.edge", "bythebook.reading.blocks"),
        *("alembic.command", "onnxruntime", "tokenizers"),
    ]
)


async def ingest(home: Path, root: Path, telling: Connection) -> None:
    async with await Library.open(Settings(home=home)) as library:
        telling.send("started")
        await library.ingest(root, book_id="killed")
        telling.send("done")


def run(home: Path, root: Path, telling: Connection) -> None:
    asyncio.run(ingest(home, root, telling))


def ingest_and_kill(home: Path, root: Path, pause: float) -> bool:
    """Whether the kill came before the end."""
    hearing, telling = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=run, args=(home, root, telling))
    process.start()
    telling.close()
    with hearing:
        assert hearing.recv() == "started"
        time.sleep(pause)
        process.kill()
        process.join()
        process.close()
        try:
            return bool(hearing.recv() != "done")
        except EOFError:
            return True
