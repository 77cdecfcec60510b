"""Without what macOS or Windows lack, a book is read, asked and served."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from booktext import WriteBook
from bythebook.fetching.git import GitFailed, run_git
from extent import PATIENCE

# Python imports this before all else, in the processes that are started from there, too.
SITE = """
import asyncio, os, signal, sys
for name in ("uvloop", "resource"):
    sys.modules[name] = None
for name in ("fork", "killpg", "nice", "posix_fallocate", "sched_getaffinity"):
    delattr(os, name)
def no_signals(self, *_):
    raise NotImplementedError
asyncio.SelectorEventLoop.add_signal_handler = no_signals
"""
FACTS = {
    f"{topic}.md": f"# {topic.title()}\n\n" + f"The {topic} press weighs {weight} kilograms. " * 30
    for topic, weight in {"screw": 300, "beam": 9000, "roller": 750}.items()
}


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "site"
    place.mkdir()
    (place / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place), *filter(None, sys.path)]))


@pytest.mark.usefixtures("bare", "with_sandbox")
def test_commands(write_book: WriteBook) -> None:
    book = str(write_book(FACTS))
    assert "3 of 3 files read" in ran("ingest", book)
    assert "9000 kilograms" in ran("ask", "How many kilograms does the beam press weigh?")


@pytest.mark.usefixtures("bare", "with_sandbox")
def test_the_service(write_book: WriteBook) -> None:
    ran("ingest", str(write_book(FACTS)))
    command = [sys.executable, "-m", "bythebook", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            said = ""
            while "listens on" not in said:
                said += (line := process.stderr.readline())
                assert line, said
            address = line.split("listens on ")[1].split()[0]
            with httpx.Client(timeout=PATIENCE, trust_env=False) as client:
                body = {"message": "How many kilograms does the beam press weigh?"}
                answer = client.post(f"{address}/chat/run", json=body)
            assert "9000 kilograms" in answer.json()["response"]
            process.send_signal(signal.SIGTERM)
            process.stderr.read()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


async def test_git_is_ended_where_there_are_no_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "killpg")
    child = tmp_path / "child"
    # It hands its output to nobody, as a child whose pipe is closed would end.
    forever = f"alias.wait=!echo $$ >{child}; exec tail -f {os.devnull} >{os.devnull} 2>&1"
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(GitFailed, match="took longer"):
            await run_git(tmp_path, ["wait"], 1, settings=[forever])
    if child.exists():
        os.kill(int(child.read_text()), signal.SIGKILL)


def ran(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "bythebook", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
