"""The model in a child process: the same vectors, and nothing depends on it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from booktext import TOPICS
from bythebook.__main__ import main
from bythebook.cli import app
from bythebook.embedding import ahead
from bythebook.embedding.minilm import MiniLM

TEXTS = [*TOPICS.values(), "\ud800 lone", "", "long " * 1000]
ASKING = """
import os, signal, sys
children, fork = [], os.fork
os.fork = lambda: children.append(fork()) or children[-1]
from bythebook.embedding import ahead
ahead.begin()
import asyncio
from bythebook.embedding.choose import make_embedder
from bythebook.settings import Settings

async def main():
    texts = eval(sys.stdin.read())
    embedder = make_embedder(Settings())
    question = await embedder.embed_query(texts[0])
    rows = await embedder.embed_documents(texts)
    print("numpy" in sys.modules)
    if sys.argv[1] == "killed":
        os.kill(children[0], signal.SIGKILL)
    again = await embedder.embed_documents(texts)
    print(question == rows[0], rows == again)
    print("onnxruntime" in sys.modules, embedder.texts_embedded)
    print(rows)
    await embedder.close()

asyncio.run(main())
"""
BEGIN = "from bythebook.embedding import ahead; ahead.begin(); "
GONE = """
import os
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("gone")
"""
STUCK = """
import os, sys, time
from bythebook.embedding import ahead, model

def load(_model):
    while os.path.exists(sys.argv[1]):
        time.sleep(0.05)

model.Model.load = load
ahead.begin()
if sys.argv[2] == "killed":
    print("done", flush=True)
    os.kill(os.getpid(), 9)
print("done")
"""


def run(program: str, *words: str, told: str = "") -> str:
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(
        command, input=told, capture_output=True, text=True, timeout=60, check=False
    )
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize(("child", "loaded_itself"), [("alive", False), ("killed", True)])
async def test_the_vectors_are_the_same(child: str, loaded_itself: bool) -> None:
    embedder = MiniLM(threads=2)
    expected = await embedder.embed_documents(TEXTS)
    await embedder.close()
    assert run(ASKING, child, told=ascii(TEXTS)).splitlines() == [
        "False",
        "True True",
        f"{loaded_itself} {2 * len(TEXTS)}",
        str(expected),
    ]


@pytest.fixture
def child() -> Iterator[tuple[subprocess.Popen[bytes], ahead.Ahead]]:
    """A process that serves, and the side that asks it."""
    asks_read, asks = os.pipe()
    answers, answers_write = os.pipe()
    program = f"from bythebook.embedding import ahead; ahead._serve({asks_read}, {answers_write})"
    ends = (asks_read, answers_write)
    with subprocess.Popen([sys.executable, "-c", program], pass_fds=ends) as serving:
        for end in ends:
            os.close(end)
        side = ahead.Ahead(serving.pid, asks, answers)
        yield serving, side
        side.close()


def test_it_ends_with_its_parent_and_not_before(
    child: tuple[subprocess.Popen[bytes], ahead.Ahead],
) -> None:
    serving, side = child
    assert [len(row) for row in side.vectors(["one", "two"], 384) or []] == [384, 384]
    serving.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert [len(row) for row in side.vectors(["three"], 384) or []] == [384]
    assert side.vectors([], 384) == []
    side._asks.close()
    assert serving.wait(timeout=60) == 0
    side._child = None
    assert side.vectors(["four"], 384) is None


@pytest.mark.parametrize("parent", ["ended", "killed"])
def test_who_reads_the_output_does_not_wait_for_the_child(tmp_path: Path, parent: str) -> None:
    stays = tmp_path / "stays"
    stays.touch()
    try:
        assert run(STUCK, str(stays), parent) == "done\n"
    finally:
        stays.unlink()


def test_nothing_is_left_of_it() -> None:
    program = f"{BEGIN}ahead.begun().close(); ahead.begun().close()\n{GONE}"
    assert run(program) == "gone\n"


def test_a_damaged_model_is_told_by_the_command(
    tmp_path: Path, ingested_sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child says nothing; the parent, which then has to load the model itself, does."""
    package = shutil.copytree(Path(ahead.__file__).parents[1], tmp_path / "bythebook")
    (package / "embedding" / "weights" / "model.onnx").write_bytes(b"damaged")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("BYTHEBOOK_HOME", str(shutil.copytree(ingested_sample, tmp_path / "home")))
    command = [sys.executable, "-m", "bythebook", "search", "drones"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "model.onnx" in done.stderr and "is damaged" in done.stderr


def test_who_asks_loads_neither_numpy_nor_the_model(
    ingested_sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYTHEBOOK_HOME", str(shutil.copytree(ingested_sample, tmp_path / "home")))
    command = [sys.executable, "-X", "importtime", "-m", "bythebook", "ask", "What is a topic?"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "Sources" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "qdrant_edge" in loaded
    assert not loaded & {"numpy", "onnxruntime", "tokenizers", "sqlalchemy", "filelock"}


@pytest.mark.parametrize(
    ("words", "embedder", "begins"),
    [
        (["search", "drones"], None, True),
        (["ask", "What?"], "built-in", True),
        (["ask", "What?"], "openai", False),
        (["ask", "--help"], None, False),
        (["ingest", "ask"], None, False),
        ([], None, False),
    ],
)
def test_which_commands_have_one(
    monkeypatch: pytest.MonkeyPatch, words: list[str], embedder: str | None, begins: bool
) -> None:
    done: list[str] = []
    monkeypatch.setattr(sys, "argv", ["bythebook", *words])
    if embedder:
        monkeypatch.setenv("BYTHEBOOK_EMBEDDER", embedder)
    monkeypatch.setattr("gc.set_threshold", lambda _: None)  # this process goes on
    monkeypatch.setattr(ahead, "begin", lambda: done.append("begun"))
    monkeypatch.setattr(app, "main", lambda: done.append("run"))
    main()
    assert done == (["begun", "run"] if begins else ["run"])
