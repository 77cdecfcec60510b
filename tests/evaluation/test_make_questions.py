"""Starter questions from a book."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from booktext import WriteBook
from bythebook.errors import InputError
from bythebook.evaluation.dataset import headings_of, same_heading
from bythebook.evaluation.outcomes import all_passages
from bythebook.evaluation.question_maker import drafts_of, make_questions, spread, usable
from bythebook.language.question_templates import (
    Dictionary,
    definition_question,
    heading_question,
    term_questions,
)
from bythebook.library import Library
from bythebook.settings import Settings
from evaluation.conftest import Eval
from standins.llm_server import LlmServer, fails, says

BOOK = "physical-ai-robotics"
WORDS = Dictionary.of(
    [
        "You choose a physics engine and run the simulator. Then a node runs, and the node graph "
        "is new. They install it, they build robots with Gazebo and they describe a world. The "
        "camera and the step size of the physics engine matter. You train it with data of a sensor."
    ]
)


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("## How to install Gazebo", "How do I install Gazebo?"),
        ("## Choosing a physics engine", "How do I choose a physics engine?"),
        ("### Installing and running the simulator", "How do I install and run the simulator?"),
        ("## Run the simulator", "How do I run the simulator?"),
        ("## Check your sensor", "How do I check my sensor?"),
        ("## Running Gazebo", "How do I run Gazebo?"),
        ("## Training data", "What should I know about training data?"),
        ("## Training Data", "What should I know about training data?"),
        ("## Test results", "What does the book say about “test results”?"),
        ("## Node graph", "What is the node graph?"),
        ("## The Step Size", "What is the step size?"),
        ("## Physics engines", "What are physics engines?"),
        ("## Three sensors", "What are the three sensors?"),
        ("## How the sensor works", "How does the sensor work?"),
        ("## How sensors work", "How do sensors work?"),
        ("## Why sensors drift", "Can you explain why sensors drift?"),
        ("## What SDF is", "What is SDF?"),
        ("## When to use a sensor", "When should I use a sensor?"),
        ("## Sensors vs. cameras", "What is the difference between sensors and cameras?"),
        ("## When the sensor fails", "What should I do when the sensor fails?"),
        ("## Sensors and worlds", "What should I know about sensors and worlds?"),
        ("## Which sensor is best?", "Which sensor is best?"),
        ("## 2.3 Node graph {#graph}", "What is the node graph?"),
        ("## 📦 Sensors", "What are sensors?"),
        ("## Cameras", "What are cameras?"),
        ("## `-t`, `--typescript`", None),
        ("## Summary", None),
        ("## See also", None),
        ("## Before you install it", None),
        ("## `create_node()`", None),
        ("## A heading that goes on and on and says far too much of it all", None),
    ],
)
def test_a_heading_asks(heading: str, question: str | None) -> None:
    assert heading_question(heading, WORDS) == question


def test_a_heading_that_could_be_anywhere_names_its_page() -> None:
    asked = heading_question("## The main parts", WORDS, "Running Gazebo")
    assert asked == "About running Gazebo: what are the main parts?"
    asked = heading_question("## The main parts", WORDS, "Create a world")
    assert asked == "About “Create a world”: what are the main parts?"
    assert heading_question("## The main parts", WORDS, "Overview") is None


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("A **node** is a participant in a system.", "What is a node?"),
        ("An action is a connection for tasks that last.", "What is an action?"),
        ("Gazebo is a simulator.", "What is Gazebo?"),
        ("The **node graph** is the network of all nodes.", "What is the node graph?"),
        ("**Action chunking** is the prediction of several actions.", "What is action chunking?"),
        ("Quaternions are a way to write rotations.", "What are quaternions?"),
        ("It is a good idea.", None),
        ("The drawback is a loss of speed.", None),
        ("This is the reason.", None),
        ("Forgetting this is the commonest reason.", None),
        ("A node runs.", None),
    ],
)
def test_a_definition_asks(sentence: str, question: str | None) -> None:
    assert definition_question(sentence, WORDS) == question


def test_bold_terms_ask() -> None:
    texts = (
        "Use a **callback group**, **never** the **entire** thing.",
        "It is called **RMW** and rests on **DDS** (Data Distribution Service).",
        "- **Fault isolation.** The rest goes on.",
        "**It is in here** and **5 minutes** long.",
    )
    asked = [question for text in texts for _, question in term_questions(text, WORDS)]
    assert asked == [
        "What does “callback group” mean?",
        "What does “RMW” mean?",
        "What does “DDS” mean?",
        "What does “fault isolation” mean?",
    ]


async def test_every_question_of_the_sample_book_has_its_place(sample_home: Path) -> None:
    async with await Library.open(Settings(home=sample_home)) as library:
        book = await library.book(BOOK)
        passages = await all_passages(library, BOOK)
        lines = await make_questions(library, book)
        assert lines == await make_questions(library, book)
    covered = [line for line in lines if line.covered]
    uncovered = [line for line in lines if not line.covered]
    assert len(covered) == 60 and len(uncovered) == 30
    headings: dict[str, set[str]] = {}
    for passage in passages:
        headings.setdefault(passage.metadata.source_file, set()).update(headings_of(passage))
    for line in covered:
        assert line.section and line.source_file
        assert same_heading(line.section) in headings[line.source_file]
    assert Counter(line.kind for line in covered).keys() == {"definition", "heading", "term"}
    assert len({same_heading(line.question) for line in lines}) == len(lines)
    chapters = {str(line.source_file).rpartition("/")[0] for line in covered}
    assert len(chapters) >= 10


async def test_questions_are_readable(sample_home: Path) -> None:
    async with await Library.open(Settings(home=sample_home)) as library:
        drafts = drafts_of(await all_passages(library, BOOK), "en")
    assert len(drafts) > 300
    for draft in drafts:
        assert re.fullmatch(r"[A-Z][^\n*`#{}<>|]+\?", draft.text), draft.text
        assert 2 <= len(draft.text.split()) <= 25, draft.text
        assert "  " not in draft.text and " ?" not in draft.text, draft.text


async def test_few_questions_are_from_everywhere(sample_home: Path) -> None:
    async with await Library.open(Settings(home=sample_home)) as library:
        drafts = drafts_of(await all_passages(library, BOOK), "en")
    chosen = spread(drafts, 8)
    assert len(chosen) == 8
    assert len({(d.passage.metadata.module, d.passage.metadata.chapter) for d in chosen}) == 8
    assert spread(drafts, 10_000) == drafts


async def test_other_books_give_what_is_not_covered(
    library: Library, write_book: WriteBook
) -> None:
    await library.ingest(
        write_book({"bees.md": "# Bees\n\nA **drone** is a male bee that has no sting at all.\n"}),
        book_id="bees",
    )
    root = write_book({"bees.md": "# Stars\n\nA **pulsar** is a star that turns very quickly.\n"})
    await library.ingest(root, book_id="stars")
    lines = await make_questions(library, await library.book("stars"), 4)
    asked = {line.question: line.covered for line in lines}
    assert asked["What is a pulsar?"] is True
    assert asked["What is a drone?"] is False


async def test_what_the_book_covers_is_not_called_uncovered(
    library: Library, write_book: WriteBook
) -> None:
    text = "# Cooking\n\nBoil an egg for six minutes and the yolk stays soft.\n"
    await library.ingest(write_book({"eggs.md": text}), book_id="cooking")
    lines = await make_questions(library, await library.book("cooking"), 100)
    uncovered = [line.question for line in lines if not line.covered]
    assert len(uncovered) > 40
    assert not any("yolk" in question for question in uncovered)


def test_a_first_measurement_in_one_command(
    evaluate: Eval, sample_home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "starter.jsonl"
    out, err = evaluate("--book", BOOK, "--make-questions", file, "--limit", "6")
    assert out == "" and "6 covered and 3 uncovered" in err and "bythebook eval --book" in err
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    from_file = evaluate.json("--book", BOOK, file)
    at_once = evaluate.json("--book", BOOK, "--limit", "6")
    assert from_file["counts"] == at_once["counts"] and len(lines) == 9
    assert from_file["retrieval"] == at_once["retrieval"]
    with pytest.raises(InputError, match="already there"):
        evaluate("--book", BOOK, "--make-questions", file)


def test_questions_may_be_printed(evaluate: Eval, sample_home: Path) -> None:
    out, _ = evaluate("--book", BOOK, "--make-questions", "--limit", "2")
    printed = [json.loads(line) for line in out.splitlines()]
    assert evaluate.json("--book", BOOK, "--make-questions", "--limit", "2") == printed


def with_model(home: Path, llm: LlmServer, **more: Any) -> Settings:
    return Settings(
        home=home, openai_base_url=llm.base_url, openai_model="stand-in", retry_delay=0.01, **more
    )


async def test_a_language_model_words_them_better(sample_home: Path, llm: LlmServer) -> None:
    llm.script(
        says("Question: Which programs make up a robot's software?"),
        says("Here you are:\n\nWhat is that?"),
        says("What does this passage say about nodes?"),
    )
    async with await Library.open(with_model(sample_home, llm)) as library:
        book = await library.book(BOOK)
        lines = await make_questions(library, book, 3)
    async with await Library.open(Settings(home=sample_home)) as library:
        plain = await make_questions(library, book, 3)
    assert lines[0].question == "Which programs make up a robot's software?"
    assert lines[0].source_file == plain[0].source_file
    assert lines[1:] == plain[1:]  # what can't be used leaves the draft
    assert "Passage:" in json.dumps(llm.bodies[0])


async def test_a_failing_language_model_changes_nothing(sample_home: Path, llm: LlmServer) -> None:
    llm.script(says("Which programs make up a robot's software?"))
    llm.always(fails(500))
    told: list[str] = []
    async with await Library.open(with_model(sample_home, llm, retries=0)) as library:
        book = await library.book(BOOK)
        lines = await make_questions(library, book, 4, on_problem=told.append)
    async with await Library.open(Settings(home=sample_home)) as library:
        plain = await make_questions(library, book, 4)
    assert lines[0].question == "Which programs make up a robot's software?"
    assert lines[1:] == plain[1:]
    assert len(told) == 1 and "3 questions keep" in told[0]


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        ("**What is a node?**", "What is a node?"),
        ("Q: Why does it start?", "Why does it start?"),
        ("It is a node.", None),
        ("", None),
        ("What? " * 60, None),
        ("According to the passage, what is a node?", None),
    ],
)
def test_a_reply_must_be_a_question_of_its_own(reply: str, question: str | None) -> None:
    assert usable(reply) == question
