"""What a book seems to say about everyday questions, measured when it is ingested."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from bythebook.evaluation.question_maker import SHIPPED
from bythebook.library import Library
from bythebook.retrieval.calibration import (
    BUILT_IN,
    LEAST_PASSAGES,
    calibration_for,
    everyday_questions,
    is_due,
    raised_threshold,
)
from bythebook.settings import Settings

WORDS = "The gearbox of stage {n} turns the rotor at {n} revolutions and its bearing {n} is oiled. "


def write_pages(root: Path, count: int) -> None:
    root.mkdir(exist_ok=True)
    for number in range(count):
        text = WORDS.format(n=number) * 12
        (root / f"page-{number:02}.md").write_text(f"# Stage {number}\n\n{text}\n", "utf-8")


async def test_a_book_of_some_size_is_measured_once(tmp_path: Path) -> None:
    root = tmp_path / "book"
    write_pages(root, LEAST_PASSAGES + 2)
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        await library.ingest(root, book_id="gears")
        book = await library.book("gears")
        assert book.background is not None
        assert book.background.passages == book.total_chunks
        assert len(book.background.evidence) == len(everyday_questions())
        assert not is_due(book)
        assert "background" not in book.model_dump()

        write_pages(root, LEAST_PASSAGES + 3)
        await library.ingest(root, book_id="gears")
        assert (await library.book("gears")).background == book.background

        write_pages(root, LEAST_PASSAGES + 20)
        await library.ingest(root, book_id="gears")
        again = (await library.book("gears")).background
        assert again is not None and again.passages > book.background.passages


async def test_a_small_book_is_not_measured(tmp_path: Path) -> None:
    write_pages(tmp_path / "book", 3)
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        await library.ingest(tmp_path / "book", book_id="gears")
        assert (await library.book("gears")).background is None


async def test_a_book_about_everything_needs_more_evidence(tmp_path: Path) -> None:
    manual, world = tmp_path / "manual", tmp_path / "world"
    write_pages(manual, LEAST_PASSAGES)
    world.mkdir()
    for number, question in enumerate(everyday_questions()[:45]):
        text = f"People often ask: {question} Many have an opinion about it. " * 10
        (world / f"topic-{number:02}.md").write_text(f"# Topic {number}\n\n{text}\n", "utf-8")
    more = {}
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        for root in (manual, world):
            await library.ingest(root, book_id=root.name)
            background = (await library.book(root.name)).background
            more[root.name] = raised_threshold(calibration_for(BUILT_IN), background)
    assert more["manual"] == 0 < more["world"]


def test_the_questions_are_not_those_that_judge() -> None:
    judging = (resources.files("bythebook.evaluation") / SHIPPED).read_text("utf-8").splitlines()
    assert len(set(everyday_questions())) == len(everyday_questions()) >= 50
    assert not set(everyday_questions()) & set(judging)
