"""Killing an ingest at random moments: whatever was half done, the next run makes it whole."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from booktext import TOPICS, lesson, section
from bythebook.library import Library
from bythebook.settings import Settings
from extent import FULL
from ingestion.victim import ingest_and_kill
from invariants import check_invariants, content_of

KILLS = 50 if FULL else 10
FILES = 12


def write_lessons(root: Path, generator: random.Random) -> None:
    """Change, add and remove some lessons, so that every run has something to do."""
    topics = list(TOPICS)
    for number in generator.sample(range(FILES), 4):
        file = root / f"module-1/chapter-{number % 3 + 1}/{number:02}-lesson.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists() and generator.random() < 0.2:
            file.unlink()
            continue
        chosen = generator.sample(topics, 3)
        file.write_text(
            lesson(f"Lesson {number}", *(section(f"About {topic}", topic) for topic in chosen)),
            encoding="utf-8",
        )


@pytest.mark.slow
async def test_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    generator = random.Random(20261115)
    root, home = tmp_path / "book", tmp_path / "home"
    early, longest = 0, 1.5
    for _ in range(KILLS):
        write_lessons(root, generator)
        came_early = ingest_and_kill(home, root, generator.random() * longest)
        early += came_early
        longest *= 1.1 if came_early else 0.8  # as fast as the machine is today
    assert early > KILLS / 3, "the kills came too late to test anything"

    async with await Library.open(Settings(home=home)) as library:
        assert all(job.status != "running" for job in await library.jobs())
        await library.ingest(root, book_id="killed")
        await check_invariants(library, "killed")
        found = await content_of(library, "killed")
        before = library.embedder.texts_embedded
        await library.ingest(root, book_id="killed", mode="full")
        assert library.embedder.texts_embedded == before, "an unchanged chunk was embedded again"
    async with await Library.open(Settings(home=tmp_path / "fresh")) as library:
        await library.ingest(root, book_id="killed")
        assert found == await content_of(library, "killed")


async def test_what_was_written_before_a_kill_is_not_embedded_again(tmp_path: Path) -> None:
    generator = random.Random(7)
    root, home = tmp_path / "book", tmp_path / "home"
    for _ in range(8):
        write_lessons(root, generator)
    for pause in (0.3, 0.8):
        ingest_and_kill(home, root, pause)
    async with await Library.open(Settings(home=home)) as library:
        present = len(await content_of(library, "killed"))
        job = await library.ingest(root, book_id="killed")
        chunks = await check_invariants(library, "killed")
        assert library.embedder.texts_embedded == job.chunks_embedded == len(chunks) - present
