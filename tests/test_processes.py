"""Work in processes of their own: errors come out whole, the dead are replaced, none is left."""

from __future__ import annotations

import asyncio
import operator
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bythebook import Library
from bythebook.errors import InputError, Overloaded
from bythebook.models.job import IngestionJob
from bythebook.reading.layout import find_book
from bythebook.runtime import ATTEMPTS, Processes
from bythebook.settings import Settings
from extent import PATIENCE
from workers.fleet import write_lessons

PARENT = """
import asyncio, os
from bythebook.runtime import Processes

async def main():
    print(await Processes().run(os.getpid), flush=True)
    await asyncio.sleep(60)

if __name__ == "__main__":
    asyncio.run(main())
"""


@pytest.fixture
async def processes() -> AsyncIterator[Processes]:
    made = Processes(2)
    yield made
    await made.close()


async def test_work_is_done_elsewhere_and_last(processes: Processes) -> None:
    assert await processes.run(os.getpid) != os.getpid()
    assert await processes.run(os.nice, 0) == 19


async def test_an_error_for_a_person_comes_out_whole(processes: Processes) -> None:
    nowhere = Path("/nowhere/at/all")
    with pytest.raises(InputError) as told:
        find_book(nowhere)
    with pytest.raises(InputError) as told_there:
        await processes.run(find_book, nowhere)
    assert str(told_there.value) == str(told.value)
    assert (told_there.value.action, told_there.value.details) == (told.value.action, {})


async def test_a_bug_comes_out_as_it_is(processes: Processes) -> None:
    with pytest.raises(ZeroDivisionError):
        await processes.run(operator.floordiv, 1, 0)


async def test_a_process_that_died_is_replaced(processes: Processes) -> None:
    first = await processes.run(os.getpid)
    os.kill(first, signal.SIGKILL)
    assert await processes.run(os.getpid) not in (first, os.getpid())


async def test_what_kills_its_process_is_given_up_and_the_rest_is_done(
    processes: Processes,
) -> None:
    killing, *others = await asyncio.gather(
        processes.run(os._exit, 1),
        *(processes.run(operator.add, number, 1, attempts=ATTEMPTS + 1) for number in range(20)),
        return_exceptions=True,
    )
    assert isinstance(killing, Overloaded)
    assert f"{ATTEMPTS} times" in killing.message
    assert others == list(range(1, 21))


@pytest.mark.usefixtures("with_processes")
async def test_an_ingest_survives_the_death_of_its_process(tmp_path: Path) -> None:
    write_lessons(tmp_path / "book", 60)
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        library.stay_in_background()
        assert library.processes is not None
        process = await library.processes.run(os.getpid)
        killed: list[int] = []

        def kill_once(job: IngestionJob) -> None:
            if job.files_processed and not killed:
                os.kill(process, signal.SIGKILL)
                killed.append(job.files_processed)

        job = await library.ingest(tmp_path / "book", on_progress=kill_once)
        assert 0 < killed[0] < 60
        assert (job.status, job.files_processed, job.files_failed) == ("completed", 60, 0)
        assert (await library.book()).total_chunks == job.chunks_created


@pytest.mark.skipif(sys.platform == "win32", reason="needs a signal that can't be caught")
def test_nobody_is_left_when_the_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT, encoding="utf-8")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.send_signal(signal.SIGKILL)
    for _ in range(20 * PATIENCE):
        if not is_running(child):
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    raise AssertionError("the child lives on")


def is_running(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
