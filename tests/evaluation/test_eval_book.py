"""Questions on a book that is in the index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bythebook.errors import BookNotFound, InputError
from evaluation.conftest import Eval

pytestmark = pytest.mark.usefixtures("with_reader")

BOOK = "physical-ai-robotics"
GRAPH = "module-1-ros2/chapter-1-foundations/01-the-ros-graph.md"
QUESTIONS: list[dict[str, Any]] = [
    {
        "question": "What is a node in ROS 2?",
        "source_file": GRAPH,
        "section": "Nodes and the graph",
        "answer": "A node is a participant in a ROS 2 system that does one clearly bounded job.",
        "kind": "definition",
    },
    {"question": "What does a domain ID separate?", "source_file": GRAPH},
    {"question": "What are the compatibility rules of quality of service?",
     "source_file": "module-1-ros2/chapter-2-communication/03-quality-of-service.md",
     "section": "Compatibility rules"},
    {"question": "How long should I boil an egg?"},
    {"question": "Who painted the Mona Lisa?", "source_file": "", "covered": False},
]  # fmt: skip


def written(folder: Path, lines: list[Any]) -> Path:
    file = folder / "questions.jsonl"
    file.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines),
        encoding="utf-8",
    )
    return file


def test_a_book_is_measured(evaluate: Eval, sample_home: Path, tmp_path: Path) -> None:
    document = evaluate.json("--book", BOOK, written(tmp_path, QUESTIONS), "--details")
    assert document["set"] == "questions.jsonl" and document["book_id"] == BOOK
    counts = document["counts"]
    assert (counts["covered"], counts["uncovered"]) == (3, 2)
    assert document["refusal"]["answered_of_covered"] > 0.6
    assert document["refusal"]["refused_of_uncovered"] == 1
    assert document["answers"]["cited_right"] == 1
    assert document["answers"]["token_f1"] > 0.3
    assert document["groups"]["definition"]["questions"] == 1
    first = document["questions"][0]
    assert first["gold"] == [f"{GRAPH}#nodes and the graph"]
    assert first["found"][0] == first["gold"][0]


def test_a_citation_of_another_section_is_not_right(
    evaluate: Eval, sample_home: Path, tmp_path: Path
) -> None:
    elsewhere = {**QUESTIONS[0], "section": "When the list is wrong"}
    document = evaluate.json("--book", BOOK, written(tmp_path, [elsewhere]))
    assert document["answers"]["cited_right"] == 0
    assert document["retrieval"]["mrr@10"] < 1
    assert document["calibration"]["ece"] > 0.5
    whole_page = {**elsewhere, "also": [GRAPH]}
    document = evaluate.json("--book", BOOK, written(tmp_path, [whole_page]))
    assert document["answers"]["cited_right"] == 1


def test_only_one_book_need_not_be_named(evaluate: Eval, sample_home: Path, tmp_path: Path) -> None:
    file = written(tmp_path, QUESTIONS[:1])
    with pytest.raises(InputError, match="not a folder of questions"):
        evaluate(file)
    assert evaluate.json("--book", BOOK, file)["counts"]["questions"] == 1


def test_an_unknown_book_is_named(evaluate: Eval, sample_home: Path, tmp_path: Path) -> None:
    with pytest.raises(BookNotFound, match="no book 'nothing-here'"):
        evaluate("--book", "nothing-here", written(tmp_path, QUESTIONS))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", r"questions\.jsonl:2 is not a question: Invalid JSON"),
        ('{"source_file": "a.md"}', r"questions\.jsonl:2 is not a question: question"),
        ('{"question": "?"}', r"questions\.jsonl:2 is not a question: question"),
    ],
)
def test_a_bad_line_of_questions_is_named_by_its_number(
    evaluate: Eval, sample_home: Path, tmp_path: Path, line: str, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        evaluate("--book", BOOK, written(tmp_path, [QUESTIONS[0], line]))


def test_places_that_the_book_does_not_have_are_named(
    evaluate: Eval, sample_home: Path, tmp_path: Path
) -> None:
    file = written(tmp_path, [QUESTIONS[3], {**QUESTIONS[0], "source_file": "nowhere.md"}])
    with pytest.raises(InputError, match=r"Line 2 names the page nowhere\.md"):
        evaluate("--book", BOOK, file)
    file = written(tmp_path, [{**QUESTIONS[0], "section": "No such heading"}])
    with pytest.raises(InputError, match="Line 1 names the section 'No such heading'"):
        evaluate("--book", BOOK, file)


def test_a_file_must_be_there_and_hold_questions(
    evaluate: Eval, sample_home: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="can't be read"):
        evaluate("--book", BOOK, tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="no question"):
        evaluate("--book", BOOK, written(tmp_path, []))


def test_a_question_that_fails_is_counted_as_such(
    evaluate: Eval, sample_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURN_TIMEOUT", "0.000001")
    from bythebook.errors import ModelError

    with pytest.raises(ModelError, match="took longer"):
        evaluate.json("--book", BOOK, written(tmp_path, QUESTIONS[:2]))
