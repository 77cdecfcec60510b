"""The service as a process of its own, killed in the middle of everything and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from booktext import WriteBook
from bythebook.library import sample_book
from bythebook.models.job import IngestionJob
from extent import PATIENCE
from faults.process import ServiceProcess

TINY = {
    "tea.md": "# Tea\n\n## Brewing\n\nGreen tea is brewed at 80 degrees for two minutes.\n\n"
    "## Keeping\n\nTea leaves are kept dry, dark and away from strong smells.\n",
    "coffee.md": "# Coffee\n\n## Grinding\n\nCoffee for a French press is ground coarsely.\n",
}
QUESTION = "How hot is green tea brewed?"


@contextmanager
def serving(home: Path, books: Path, end: signal.Signals) -> Iterator[httpx.Client]:
    """The service and its client; it is ended so, or killed where something went wrong."""
    service = ServiceProcess(home, {"BYTHEBOOK_BOOKS_FOLDER": str(books)})
    try:
        assert service.url, service.log
        with httpx.Client(base_url=service.url, timeout=PATIENCE) as http:
            yield http
    except BaseException:
        service.end()
        raise
    assert service.end(end) == (0 if end == signal.SIGTERM else -end)


def wait_for(http: httpx.Client, job_id: int, so: Callable[[IngestionJob], bool]) -> IngestionJob:
    for _ in range(20 * PATIENCE):
        response = http.get(f"/ingestion/status/{job_id}")
        job = IngestionJob.model_validate(response.json())
        if so(job):
            return job
        time.sleep(0.05)
    raise AssertionError(f"not so: {job}")


def trigger(http: httpx.Client, **body: Any) -> int:
    response = http.post("/ingestion/trigger", json=body)
    assert response.status_code == 202, response.text
    return int(response.json()["job_id"])


@pytest.mark.slow
def test_nothing_is_lost(tmp_path: Path, home: Path, write_book: WriteBook) -> None:
    books = write_book({f"tiny/{name}": text for name, text in TINY.items()})
    # Large enough to be ended in the middle.
    half = shutil.ignore_patterns("module-3-*", "module-4-*")
    shutil.copytree(sample_book(), books / "large", ignore=half)
    with serving(home, books, signal.SIGTERM) as first:
        tiny = trigger(first, path="tiny", book_id="tiny")
        wait_for(first, tiny, lambda job: job.status == "completed")
        made = subprocess.run(
            [sys.executable, "-m", "bythebook", "keys", "create", "mine", "--scope", "admin"],
            env={**os.environ, "BYTHEBOOK_HOME": str(home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
        key = {"X-API-Key": made.stdout.strip()}
        assert first.get("/info").status_code == 401
        first.headers.update(key)
        asked = first.post("/chat/run", json={"message": QUESTION, "book_id": "tiny"})
        session = asked.json()["session_id"]
        history = first.get(f"/session/{session}/history").json()
        assert len(history["messages"]) == 2
        large = trigger(first, path="large", book_id="large")
        wait_for(first, large, lambda job: job.files_processed > 0)

    with serving(home, books, signal.SIGKILL) as second:
        second.headers.update(key)
        stopped = wait_for(second, large, lambda job: True)
        assert stopped.status == "failed" and "stopped" in (stopped.error_message or "")
        again = trigger(second, book_id="large", path="large", mode="recreate")
        wait_for(second, again, lambda job: job.files_processed > 0)
        waiting = trigger(second, book_id="tiny", mode="full")
        assert second.get(f"/ingestion/status/{waiting}").json()["status"] == "queued"

    with serving(home, books, signal.SIGTERM) as third:
        third.headers.update(key)
        killed = wait_for(third, again, lambda job: True)
        assert killed.status == "failed" and "process ended" in (killed.error_message or "")
        done = wait_for(third, waiting, lambda job: job.status == "completed")
        assert done.files_processed == len(TINY)
        assert third.get(f"/session/{session}/history").json() == history
        follow = third.post(
            "/chat/run", json={"message": "And for how long?", "session_id": session}
        )
        assert follow.status_code == 200
        last = trigger(third, book_id="large", path="large")
        finished = wait_for(
            third, last, lambda job: job.status != "running" and bool(job.completed_at)
        )
        assert finished.status == "completed"
        changes = third.get("/ingestion/changes", params={"book_id": "large"}).json()
        assert changes["up_to_date"]
        found = third.post("/search", json={"text": "What is a URDF?", "book_id": "large"})
        assert found.json()["results"]
