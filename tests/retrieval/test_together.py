"""Words that stand together in a question, looked for in the passages."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.index.sparse import query_terms
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.retrieval.proximity import WordPair, pairs_in, proximity_share
from bythebook.settings import Settings


def share(question: str, text: str, weight: float = 1.0, language: str = "en") -> float:
    weights = dict.fromkeys(query_terms(question, language).indices, weight)
    return proximity_share(pairs_in(question, language, weights), text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A publishing node publishes messages to a topic.", 1.0),
        ("Messages, which the node publishes", 0.5),
        ("The node\npublished its messages", 1.0),
        ("a **node** (publisher) of *messages*", 1.0),
        ("messages of a publishing node", 0.0),
        ("a node that starts at once and only much later publishes", 0.0),
        ("subnode publishes", 0.0),
        ("", 0.0),
    ],
)
def test_pairs_are_words_that_begin_so_one_soon_after_the_other(text: str, expected: float) -> None:
    assert share("Does the node publish messages?", text) == pytest.approx(expected)


def test_words_without_a_weight_do_not_part_a_pair() -> None:
    (heavy,) = query_terms("gravity", "en").indices
    (light,) = query_terms("robot", "en").indices
    asked = "How does gravity, please, act on a robot?"
    pairs = pairs_in(asked, "en", {heavy: 0.8, light: 0.5})
    assert pairs == [WordPair("gravit", "robot", 0.4)]


def test_what_a_book_has_everywhere_hardly_tells() -> None:
    assert share("ROS 2 robot", "a ROS 2 robot", weight=1.0) == pytest.approx(1.0)
    assert share("ROS 2 robot", "a ROS 2 robot", weight=0.1) < 0.1


@given(st.text(max_size=80), st.text(max_size=300))
def test_a_share_is_between_0_and_1_whatever_the_letters(question: str, text: str) -> None:
    assert 0 <= share(question, text) <= 1 + 1e-9


@given(st.lists(st.sampled_from("node topic gravity arm wheel".split()), min_size=2, max_size=6))
def test_a_question_is_found_in_itself(words: list[str]) -> None:
    question = " ".join(words)
    assert share(question, f"Of {question}.") == pytest.approx(1.0)
    twice = " ".join([question, question])
    weights = dict.fromkeys(query_terms(twice, "en").indices, 1.0)
    assert len(set(pairs_in(twice, "en", weights))) == len(pairs_in(twice, "en", weights))


@pytest.mark.asyncio
async def test_of_two_passages_with_the_same_words_the_one_that_has_them_together_comes_first(
    tmp_path: Path,
) -> None:
    rest = "It is described in the manual of the workshop, where everybody may read about it."
    pages = {
        "together": f"The emergency brake stops the left wheel of the yellow cart. {rest}",
        "apart": f"The brake of the left cart stops, in an emergency, a yellow wheel. {rest}",
    }
    for number in range(9):
        pages[f"other-{number}"] = f"Page {number} tells of painting a fence in bright colours."
    for name, text in pages.items():
        (tmp_path / f"{name}.md").write_text(f"# Page\n\n{text}\n", encoding="utf-8")
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        await library.ingest(tmp_path, book_id="cart")
        for question, order in (
            ("Does the emergency brake stop the left wheel?", ["together", "apart"]),
            ("Does the left cart stop in an emergency?", ["apart", "together"]),
        ):
            found = await library.search(SearchQuery(text=question, book_id="cart", limit=2))
            names = [Path(passage.metadata.source_file).stem for passage in found.passages]
            assert names == order, question
