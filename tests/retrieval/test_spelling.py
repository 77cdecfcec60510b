"""Typing errors are set right by the book's words, and nothing else is changed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booktext import WriteBook
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.retrieval.opening import nearest

COUNTS = {"installation": 5, "install": 9, "robot": 30, "module": 7, "functions": 12}
WORDS = Counter(COUNTS | {"need": 90, "node": 4})
PAGE = """# Robots

A robot needs its functions in a module. Installation is done once: install the robot's module.

The robot starts when the module and its functions are there. `getUserName` names who started it.
"""


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("instalation", "installation"),
        ("moduel", "module"),
        ("fuctions", "functions"),
        ("Robbot", "robot"),
        ("noed", "node"),
        ("zebra", None),
        ("gazebo", None),
    ],
)
def test_the_nearest_word_of_the_book_is_meant(typed: str, meant: str | None) -> None:
    assert nearest(typed, WORDS) == meant


@given(st.from_regex(r"[a-z]{4,12}", fullmatch=True))
def test_a_word_of_the_book_is_itself(word: str) -> None:
    assert nearest(word, Counter({word: 2, "robot": 1})) == word


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("where do my fuctions go, in a moduel?", "where do my functions go, in a module?"),
        ("what is getUserNmae", "what is getUserNmae"),
        ("what does `robbot` do", "what does `robbot` do"),
        ("can a robot drive a car", "can a robot drive a car"),
    ],
)
async def test_a_question_is_searched_as_it_was_meant(
    library: Library, write_book: WriteBook, question: str, searched: str
) -> None:
    await library.ingest(write_book({"README.md": PAGE, "more.md": PAGE}), book_id="robots")
    found = await library.search(SearchQuery(text=question, book_id="robots"))
    assert found.query == searched and found.passages


async def test_a_name_typed_wrong_is_not_missing(library: Library, write_book: WriteBook) -> None:
    pages = {"README.md": PAGE, "more.md": PAGE.replace("robot", "Ubuntu")}
    await library.ingest(write_book(pages), book_id="robots")
    for question, missing in (
        ("Where is the module of Ubunut?", ()),
        ("Where is the module of Foxglove?", ("Foxglove",)),
    ):
        found = await library.search(SearchQuery(text=question, book_id="robots"))
        assert found.evidence is not None and found.evidence.missing == missing
