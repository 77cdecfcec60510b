"""Searching: every filter, the tenant above all, dedupe, context, lesson."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from booktext import section, small_book
from bythebook.errors import BookNotFound, InputError
from bythebook.library import Library
from bythebook.models.passage import Passage
from bythebook.models.search_messages import SearchQuery
from bythebook.retrieval.calibration import assess
from bythebook.retrieval.retriever import Found
from bythebook.settings import Settings
from extent import examples


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def books(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    """Two books that share whole passages."""
    folder = tmp_path_factory.mktemp("books")
    for book_id in ("small", "other"):
        for name, text in small_book().items():
            file = folder / book_id / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace('id = "small"', f'id = "{book_id}"'), encoding="utf-8")
    async with await Library.open(Settings(home=folder / "home")) as library:
        await library.ingest(folder / "small")
        await library.ingest(folder / "other")
        yield library


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def find(library: Library, text: str, **fields: Any) -> tuple[Passage, ...]:
    defaults: dict[str, Any] = {"book_id": "small", "hardware_tier_filter": 4, "limit": 20}
    return (await library.search(SearchQuery(text=text, **{**defaults, **fields}))).passages


async def test_the_right_section_comes_first(books: Library) -> None:
    for question, section_title in (
        ("What is a node?", "What a node is"),
        ("How fast do things fall in the simulation, gravity?", "Gravity"),
        ("publish messages to subscribers over a named channel", "Topics of a node"),
        ("lidar distance by laser", "Simulated sensors"),
    ):
        best = (await find(books, question))[0]
        assert best.metadata.section_title == section_title


async def test_scores_are_between_0_and_1_and_fall(books: Library) -> None:
    scores = [passage.score for passage in await find(books, "cancel a long task")]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    about, off_topic = scores[0], (await find(books, "Who won the election in 1948?"))[0].score
    assert about > 0.7 > 0.3 > off_topic


async def test_coverage_is_of_the_question_whatever_the_limit(books: Library) -> None:
    async def found(text: str, limit: int) -> Found:
        query = SearchQuery(text=text, book_id="small", hardware_tier_filter=4, limit=limit)
        return await books.search(query)

    for text in ("What is a node?", "Who won the election in 1948?", "lidar"):
        one, five, many = [await found(text, limit) for limit in (1, 5, 20)]
        assert one.coverage == five.coverage == many.coverage
        assert one.evidence == five.evidence == many.evidence
        scores = [passage.score for passage in many.passages]
        assert [passage.score for passage in one.passages] == scores[:1]
        assert [passage.score for passage in five.passages] == scores[:5]
        assert (*one.passages, *five.passages[1:]) == many.passages[:5]
    assert (await found("What is a node?", 5)).coverage > 0.8


async def test_the_names_a_book_lacks_are_told(books: Library) -> None:
    query = SearchQuery(
        text="How do I start a node on Windows 11?", book_id="small", hardware_tier_filter=4
    )
    missed = await books.search(query)
    plain = await books.search(query.model_copy(update={"text": "How do I start a node?"}))
    assert missed.evidence is not None and plain.evidence is not None
    assert set(missed.evidence.missing) == {"Windows", "11"} and plain.evidence.missing == ()
    assert missed.coverage < plain.coverage


@pytest.mark.parametrize(
    "text", ["机器人是什么？", "the of and", "ロボット", "¿Qué es?", "x" * 2000]
)
async def test_any_question_can_be_asked(books: Library, text: str) -> None:
    found = await books.search(SearchQuery(text=text, book_id="small", hardware_tier_filter=4))
    assert 0 < found.coverage < 0.7
    assert all(0 < passage.score < 1 for passage in found.passages)


async def test_a_tiny_book_answers(tmp_path: Path) -> None:
    for number, topic in enumerate(("wheels", "gravity", "cooking")):
        text = f"# Page {topic}\n\n{section(topic.title(), topic)}"
        (tmp_path / f"{number}-{topic}.md").write_text(text, encoding="utf-8")
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        await library.ingest(tmp_path, book_id="tiny")
        for text, answered in (
            ("How long does bread dough rest?", True),
            ("How does differential drive steer a robot?", True),
            ("Who won the election in 1948?", False),
        ):
            found = await library.search(SearchQuery(text=text, book_id="tiny"))
            passing = [passage for passage in found.passages if passage.score >= 0.7]
            assert len(found.passages) == 3
            assert assess(passing).should_answer is answered, (text, found)


async def test_each_filter(books: Library) -> None:
    def places(passages: tuple[Passage, ...], name: str) -> set[Any]:
        return {getattr(passage.metadata, name) for passage in passages}

    assert places(await find(books, "robot"), "hardware_tier") == {1, 2, 3}
    assert places(await find(books, "robot", hardware_tier_filter=2), "hardware_tier") == {1, 2}
    assert places(await find(books, "robot", hardware_tier_filter=1), "hardware_tier") == {1}
    assert places(await find(books, "robot", module_filter="sim"), "module") == {"sim"}
    assert places(await find(books, "robot", chapter_min=2), "chapter") == {2}
    assert places(await find(books, "robot", chapter_max=1), "chapter") == {1}
    assert await find(books, "robot", chapter_min=3, chapter_max=9) == ()
    assert places(await find(books, "robot", lesson_filter=0), "lesson") == {0}
    levels = await find(books, "robot", proficiency_levels=["A1", "C1"])
    assert places(levels, "proficiency_level") == {"A1", "C1"}
    assert places(await find(books, "robot", layer_filter="L2"), "layer") == {"L2"}
    parent = levels[0].metadata.parent_doc_id
    assert places(await find(books, "robot", parent_doc_id=parent), "parent_doc_id") == {parent}
    by_path = await find(books, "robot", prefix="module-1-ros/chapter-2")
    assert places(by_path, "source_file") == {"module-1-ros/chapter-2/01-actions.md"}
    by_address = await find(books, "robot", prefix="https://b.example/module-2")
    assert places(by_address, "module") == {"sim"}
    both = await find(books, "robot", module_filter="ros", hardware_tier_filter=1, chapter_min=1)
    assert places(both, "module") == {"ros"} and places(both, "hardware_tier") == {1}


async def test_a_value_the_book_does_not_have_is_an_error(books: Library) -> None:
    with pytest.raises(InputError, match="Choose one of: ros, sim"):
        await find(books, "robot", module_filter="isaac")
    with pytest.raises(InputError, match="begins with"):
        await find(books, "robot", prefix="module-9")
    with pytest.raises(InputError, match="has no lesson"):
        await find(books, "robot", parent_doc_id="00000000-0000-5000-8000-000000000000")
    with pytest.raises(BookNotFound, match="Choose one of: other, small"):
        await find(books, "robot", book_id="nowhere")


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "ab"},
        {"text": "  a  "},
        {"text": "?!…"},
        {"hardware_tier_filter": 9},
        {"hardware_tier_filter": 0},
        {"limit": 0},
        {"limit": 21},
        {"layer_filter": "L9"},
        {"proficiency_levels": ["D1"]},
        {"proficiency_levels": []},
        {"chapter_min": 3, "chapter_max": 2},
        {"parent_doc_id": "not-an-id"},
        {"colour": "red"},
        {"prefix": ""},
    ],
)
async def test_bad_filters_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SearchQuery(**{"text": "a fine question", **fields})


async def test_vectors_are_brought_when_asked_for(books: Library) -> None:
    found = await find(books, "publisher sends messages over a topic")
    assert {passage.vector for passage in found} == {None}
    gone = replace(found[0], chunk=found[0].chunk.model_copy(update={"id": str(uuid4())}))
    *there, missing = await books.with_vectors([*found, gone])
    assert [replace(passage, vector=None) for passage in there] == list(found)
    assert all(passage.vector and len(passage.vector) == 384 for passage in there)
    assert missing == gone
    assert 0 < assess(there).chunk_diversity < 1 and assess(found).chunk_diversity == 0


async def test_context_and_lesson_follow_the_chain(books: Library) -> None:
    middle = (await find(books, "publisher sends messages over a topic"))[0]
    around = await books.context("small", middle.id, before=5, after=5)
    assert [passage.metadata.chunk_index for passage in around] == [0, 1, 2]
    assert around[1].id == middle.id
    whole = await books.lesson("small", middle.metadata.parent_doc_id)
    assert [passage.id for passage in whole] == [passage.id for passage in around]
    with pytest.raises(BookNotFound):
        await books.context("other", middle.id)
    with pytest.raises(BookNotFound):
        await books.lesson("other", middle.metadata.parent_doc_id)


filters = st.fixed_dictionaries(
    {},
    optional={
        "hardware_tier_filter": st.integers(1, 4),
        "module_filter": st.sampled_from(["ros", "sim"]),
        "chapter_min": st.integers(0, 1),
        "chapter_max": st.integers(1, 3),
        "lesson_filter": st.integers(0, 2),
        "proficiency_levels": st.lists(
            st.sampled_from(["A1", "A2", "B1", "C1"]), min_size=1, max_size=3
        ),
        "layer_filter": st.sampled_from(["L1", "L2", "L3"]),
        "prefix": st.sampled_from(["module-", "module-1-ros", "https://b.example/m", "m"]),
        "limit": st.integers(1, 20),
    },
)
questions = st.one_of(
    st.sampled_from(["What is a node?", "gravity", "other small", "book_id other", "remark 3"]),
    st.text(min_size=3, max_size=40).filter(lambda text: sum(map(str.isalnum, text)) >= 3),
)


@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(text=questions, fields=filters, book_id=st.sampled_from(["small", "other"]))
async def test_no_search_returns_another_books_passage(
    books: Library, text: str, fields: dict[str, Any], book_id: str
) -> None:
    """And whatever comes back satisfies every filter that was given."""
    try:
        query = SearchQuery(text=text, book_id=book_id, **fields)
    except ValidationError:
        return
    for passage in (await books.search(query)).passages:
        place = passage.metadata
        assert place.book_id == book_id
        assert place.hardware_tier <= query.hardware_tier_filter
        assert query.module_filter in (None, place.module)
        assert query.lesson_filter in (None, place.lesson)
        assert query.layer_filter in (None, place.layer)
        assert (query.chapter_min or 0) <= place.chapter
        assert query.chapter_max is None or place.chapter <= query.chapter_max
        assert not query.proficiency_levels or place.proficiency_level in query.proficiency_levels
        assert not query.prefix or (
            place.source_file.startswith(query.prefix) or place.url.startswith(query.prefix)
        )
