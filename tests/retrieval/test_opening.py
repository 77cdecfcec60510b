"""Questions about the book itself look at the pages that open it."""

from __future__ import annotations

import pytest

from booktext import WriteBook
from bythebook.library import Library
from bythebook.retrieval.opening import asks_about_book, opening_pages

FILES = ["docs/guides/index.md", "docs/introduction.mdx", "docs/api/cli.md", "README.md"]


def test_the_topmost_pages_with_such_a_name_open_the_book() -> None:
    assert opening_pages(FILES) == ["README.md", "docs/introduction.mdx"]
    assert opening_pages(["a/b.md"]) == []


@pytest.mark.parametrize(
    ("question", "heaviest", "about"),
    [
        ("What is Docusaurus?", 0.03, True),
        ("What do I need to know before this course?", 0.6, True),
        ("What is a plugin?", 0.4, False),
    ],
)
def test_what_asks_about_the_book(question: str, heaviest: float, about: bool) -> None:
    assert asks_about_book(question, heaviest) is about


async def test_the_first_passages_are_found(library: Library, write_book: WriteBook) -> None:
    book = write_book(
        {
            "README.md": "# Robots\n\nThis book teaches how robots are built and kept running.\n",
            "wheels.md": "# Wheels\n\nA wheel of a robot turns around its axle all day long.\n",
        }
    )
    await library.ingest(book, book_id="robots")
    assert [one.metadata.source_file for one in await library.opening("robots")] == ["README.md"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("so what exactly is Hatch?", True),
        ("What's Hatch", True),
        ("What is Hatch used for?", True),
        ("What does hatch do?", True),
        ("What is the Hatch build backend?", False),
        ("What is an environment?", False),
        ("How do I install Hatch?", False),
    ],
)
def test_a_question_for_the_book_by_its_name(question: str, expected: bool) -> None:
    assert asks_about_book(question, 0.9, "Hatch docs", "hatch") is expected
