"""The sample book: long and varied enough, and its questions find their lessons."""

from __future__ import annotations

import json
import re
from pathlib import Path

from bythebook.library import Library, sample_book
from bythebook.models.search_messages import SearchQuery
from bythebook.reading.metadata import read_front_matter
from invariants import check_invariants

QUESTIONS = Path(__file__).parent / "data" / "sample_questions.jsonl"
LESSON = re.compile(r"^\d\d-.*\.mdx?$")


def lessons() -> list[Path]:
    return [file for file in sample_book().rglob("*") if LESSON.match(file.name)]


def prose_words(text: str) -> int:
    body = text[read_front_matter(text).end :]
    without_code = re.sub(r"```.*?```", "", body, flags=re.S)
    lines = [line for line in without_code.splitlines() if not line.startswith(("|", "#", ":::"))]
    return len(" ".join(lines).split())


def test_there_are_enough_lessons_of_enough_words() -> None:
    assert len(lessons()) >= 24
    assert all(prose_words(file.read_text(encoding="utf-8")) >= 500 for file in lessons())


def test_front_matter_varies() -> None:
    heads = [read_front_matter(file.read_text(encoding="utf-8")).values for file in lessons()]
    assert {head["hardware_tier"] for head in heads} == {1, 2, 3, 4}
    assert {head["layer"] for head in heads} == {"L1", "L2", "L3", "L4"}
    assert len({str(head["proficiency_level"])[:2] for head in heads}) >= 5


async def test_its_questions_find_their_lessons(library: Library) -> None:
    job = await library.ingest(sample_book())
    assert not job.warnings
    chunks = await check_invariants(library, "physical-ai-robotics")
    assert {chunk.metadata.module for chunk in chunks} == {
        "ros2", "gazebo", "isaac", "vla", "physical-ai-robotics",
    }  # fmt: skip
    asked = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    first, among_five = 0, 0
    for entry in asked:
        query = SearchQuery(
            text=entry["question"], book_id="physical-ai-robotics", hardware_tier_filter=4
        )
        found = [passage.metadata for passage in (await library.search(query)).passages]
        first += found[0].source_file == entry["file"]
        among_five += any(
            place.source_file == entry["file"] and entry["section"] in place.heading_path
            for place in found
        )
    assert first >= 28 and among_five >= 29, (first, among_five, len(asked))
