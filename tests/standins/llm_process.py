"""The scripted language model in a process of its own, so that a load test measures only us.

It searches for the question and quotes the beginning of the first passages, each with its number.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from standins.llm_server import Json, Step, running_llm, says, searches_then


@contextmanager
def llm_process(*, latency: float = 0.0, pause: float = 0.0) -> Iterator[str]:
    """Its base URL. `latency` comes before each answer, `pause` after each piece of its text."""
    command = [sys.executable, "-m", "standins.llm_process", str(latency), str(pause)]
    tests = Path(__file__).parent.parent
    with subprocess.Popen(command, cwd=tests, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as own:
        assert own.stdout is not None
        try:
            yield own.stdout.readline().decode().strip()
        finally:
            own.terminate()


def quotes(found: list[Json]) -> Step:
    opening = [f"{passage['chunk_text'].split('. ')[0]}. [{passage['cite']}]" for passage in found]
    return says(" ".join(opening[:3]), split=12)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("latency", type=float)
    parser.add_argument("pause", type=float)
    given = parser.parse_args()
    always = searches_then(lambda found: replace(quotes(found), pause=given.pause), split=1)
    with running_llm(always=always, latency=given.latency) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
