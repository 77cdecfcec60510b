"""Documents embedded in processes of their own: the same vectors, and an end with their parent."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from booktext import TOPICS
from bythebook.embedding.minilm import MiniLM

TEXTS = list(TOPICS.values())
PARENT = """
import asyncio, multiprocessing, sys
from bythebook.embedding.minilm import MiniLM

async def main():
    embedder = MiniLM(threads=2)
    embedder.stay_in_background()
    await embedder.embed_documents(["a text"])
    (child,) = multiprocessing.active_children()
    print(child.pid, flush=True)
    await asyncio.sleep(60)

if __name__ == "__main__":
    asyncio.run(main())
"""


async def test_the_vectors_are_the_same() -> None:
    embedder = MiniLM(threads=2)
    alone = await embedder.embed_documents(TEXTS)
    embedder.stay_in_background()
    beside, *_ = await asyncio.gather(
        embedder.embed_documents(TEXTS * 2),
        *(embedder.embed_query("What is a node?") for _ in range(20)),
    )
    assert beside.tobytes() == alone.tobytes() * 2
    assert embedder.texts_embedded == 3 * len(TEXTS)
    await embedder.close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a signal that can't be caught")
def test_nobody_is_left_when_the_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT, encoding="utf-8")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.send_signal(signal.SIGKILL)
    for _ in range(200):
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
