"""`GET /books`: only one's own books, only what occurs in them, and questions that they answer."""

from __future__ import annotations

import asyncio
from typing import Any

from sqlalchemy import event

from booktext import WriteBook
from bythebook.database.engine import reader_of
from bythebook.keys import Scope
from server.running import Running, failing_statements, until

BOOK = "physical-ai-robotics"
# How the pages that suggestions come from are looked up.
PAGES = "SELECT files.source_file \nFROM files"
TIDES = {
    "bythebook.toml": '[book]\ntitle = "Tides"\n',
    "10-moon/README.md": "---\nhardware_tier: 3\nlayer: L2\n---\n# The Moon\n\nIt pulls the sea.",
    "2-sea/README.md": "---\nhardware_tier: 1\nproficiency_level: B1\n---\n# The Sea\n\nIt is wet.",
    "2-sea/01-waves.md": "# Waves\n\nThe wind makes waves on the sea, high ones in a storm.",
    "index.md": "# Welcome\n\nThis is about tides and the sea.",
}


async def books(up: Running, **headers: str) -> dict[str, dict[str, Any]]:
    response = await up.http.get("/books", headers=headers)
    assert response.status_code == 200, response.text
    return {book["book_id"]: book for book in response.json()}


async def suggestions(up: Running, book_id: str = BOOK) -> list[str]:
    """Once they are there: a busy machine may take longer than a reader is made to wait."""

    async def found() -> list[str]:
        return list((await books(up))[book_id]["suggestions"])

    return list(await until(found))


async def test_the_sample_book_and_what_to_choose_from(up: Running) -> None:
    (book,) = (await books(up)).values()
    assert book["title"] and book["language"] == "en" and book["chunks"] > 100
    assert book["files"] > 30 and book["base_url"].startswith("https://")
    modules = {module["id"]: module["title"] for module in book["modules"]}
    assert list(modules) == ["ros2", "gazebo", "isaac", "vla"], "in reading order"
    assert modules["isaac"] == "Module 3: NVIDIA Isaac"
    assert book["hardware_tiers"] == [1, 2, 3, 4] and book["layers"] == ["L1", "L2", "L3", "L4"]
    assert book["proficiency_levels"] == ["A1", "A2", "B1", "B2", "C1", "C2"]
    # Whatever is listed can be used as a filter.
    for name, value in (
        ("module_filter", "isaac"),
        ("hardware_tier_filter", 1),
        ("proficiency_levels", ["C2"]),
        ("layer_filter", "L4"),
    ):
        asked = await up.ask("What is a robot?", filters={name: value})
        assert asked.status_code == 200, asked.text


async def test_suggested_questions_are_answered(up: Running) -> None:
    found = await suggestions(up)
    assert 4 <= len(found) <= 6 and len(set(found)) == len(found)
    for question in found:
        assert question.endswith("?") and question[0].isupper()
        answer = (await up.ask(question)).json()
        assert answer["should_answer"] and not answer["refused"], question


async def test_they_are_found_once_until_the_book_changes(
    up: Running, write_book: WriteBook
) -> None:
    looked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, given: Any, *_rest: Any) -> None:
        if statement.startswith(PAGES):
            looked.append(given[0])

    library = up.service.library
    event.listen(reader_of(library.engine), "before_cursor_execute", note)
    try:
        await library.ingest(write_book(TIDES), book_id="tides")
        first = await asyncio.gather(*(books(up) for _ in range(5)))
        assert [module["id"] for module in first[0]["tides"]["modules"]] == ["sea", "moon"]
        await suggestions(up)
        assert sorted(looked) == [BOOK, "tides"]
        more = {"2-sea/02-salt.md": "---\nlayer: L3\n---\n# Salt\n\nThe sea is salt, as it was."}
        await library.ingest(write_book(more), book_id="tides")
        after = (await books(up))["tides"]
        assert after["layers"] == ["L1", "L2", "L3"] and after["files"] == 5
        assert sorted(looked) == [BOOK, "tides", "tides"]
    finally:
        await library.remove_book("tides")


async def test_only_values_that_occur_are_listed(up: Running, write_book: WriteBook) -> None:
    library = up.service.library
    try:
        await library.ingest(write_book(TIDES), book_id="tides")
        tides = (await books(up))["tides"]
    finally:
        await library.remove_book("tides")
    assert tides["title"] == "Tides" and tides["base_url"] is None
    # In reading order: 2 before 10; pages of no module are in none.
    assert tides["modules"] == [
        {"id": "sea", "title": "The Sea"},
        {"id": "moon", "title": "The Moon"},
    ]
    assert tides["hardware_tiers"] == [1, 3] and tides["layers"] == ["L1", "L2"]
    assert tides["proficiency_levels"] == ["A2", "B1"]


async def test_a_book_that_is_no_course_has_no_tiers_levels_and_layers(
    up: Running, write_book: WriteBook
) -> None:
    library = up.service.library
    manual = {"guides/pump.md": "# The pump\n\nThe pump moves water from the well to the tank."}
    try:
        await library.ingest(write_book(manual), book_id="manual")
        shown = (await books(up))["manual"]
    finally:
        await library.remove_book("manual")
    assert shown["hardware_tiers"] == shown["proficiency_levels"] == shown["layers"] == []
    assert shown["modules"] == [{"id": "guides", "title": "Guides"}]


async def test_a_key_sees_its_own_books_only(up: Running, write_book: WriteBook) -> None:
    library = up.service.library
    try:
        await library.ingest(write_book(TIDES), book_id="tides")
        cases: list[tuple[list[str], Scope]] = [
            (["tides"], "read"),
            ([BOOK], "chat"),
            ([BOOK], "admin"),
            (["not-there"], "chat"),
        ]
        for own, scope in cases:
            _, text = await up.service.keys.create("reader", [scope], own)
            found = await books(up, Authorization=f"Bearer {text}")
            assert set(found) == set(own) - {"not-there"}
    finally:
        await library.remove_book("tides")


async def test_a_book_without_suggestions_is_shown_all_the_same(up: Running) -> None:
    with failing_statements(up, PAGES):
        book = (await books(up))[BOOK]
    assert book["suggestions"] == [] and book["modules"]
    assert await suggestions(up), "it is tried again"
