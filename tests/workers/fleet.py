"""Real worker processes on real servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from booktext import TOPICS, lesson, section
from bythebook.settings import Settings


@dataclass
class Fleet:
    """Workers that share the database and index of `settings`, each with a home of its own."""

    settings: Settings
    folder: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *options: str) -> subprocess.Popen[str]:
        number = len(self.processes)
        log = (self.folder / f"worker-{number}.log").open("w")
        with log:
            process = subprocess.Popen(
                [sys.executable, "-m", "bythebook", "worker", *options],
                env={**os.environ, **self._environment(number)},
                stdout=subprocess.DEVNULL,
                stderr=log,
                text=True,
            )
        self.processes.append(process)
        return process

    def log(self, number: int) -> str:
        return (self.folder / f"worker-{number}.log").read_text(encoding="utf-8")

    def _environment(self, number: int) -> dict[str, str]:
        return {
            "BYTHEBOOK_HOME": str(self.folder / f"home-{number}"),
            "DATABASE_URL": self.settings.database,
            "QDRANT_URL": self.settings.qdrant_url or "",
            "QDRANT_COLLECTION_NAME": self.settings.collection,
            "BYTHEBOOK_WORKER_LEASE": str(self.settings.worker_lease),
            "BYTHEBOOK_EMBEDDING_THREADS": "1",
        }


@contextmanager
def fleet(settings: Settings, folder: Path) -> Iterator[Fleet]:
    workers = Fleet(settings, folder)
    try:
        yield workers
    finally:
        for process in workers.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()


def write_lessons(root: Path, count: int) -> Path:
    """A book with as many files, all of one section."""
    topics = list(TOPICS)
    for number in range(count):
        file = root / f"module-1/chapter-{number // 20 + 1}/{number % 20:02}-lesson.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        topic = topics[number % len(topics)]
        file.write_text(lesson(f"Lesson {number}", section(f"About {topic} {number}", topic)))
    return root
