"""Labelled questions from folders and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bythebook.cli.calibrate_command import judged_questions
from bythebook.errors import InputError
from bythebook.evaluation.dataset import read_folder, read_questions
from question_folder import write_folder


def test_a_folder_says_what_is_covered(tmp_path: Path) -> None:
    queries: list[dict[str, Any]] = [
        {"_id": "a", "text": "Is it answerable?", "answerable": True},
        {"_id": "b", "text": "Is it not?", "answerable": False},
        {"_id": "c", "text": "Partly perhaps?", "answerability": "PARTIAL"},
        {"_id": "d", "text": "Nobody knows?", "answerability": "UNDERSPECIFIED"},
        {"_id": "e", "text": "Which passage is right?"},
        {"_id": "f", "text": "Which passage is none?"},
        {
            "_id": "g",
            "text": "And that one?",
            "answerable": True,
            "history": [
                {"role": "user", "text": "What is it?"},
                {"role": "agent", "text": "A passage."},
            ],
        },
        {"_id": "h", "text": "?", "answerable": True},
    ]
    folder = read_folder(write_folder(tmp_path / "set", {"p": "A text."}, queries, {"e": "p"}))
    assert folder.name == "set"
    assert {q.text: q.covered for q in judged_questions(folder)} == {
        "Is it answerable?": True,
        "Is it not?": False,
        "Partly perhaps?": True,
        "Which passage is right?": True,
        "Which passage is none?": False,
    }


def test_a_folder_becomes_a_book(tmp_path: Path) -> None:
    asked = [{"_id": "a", "text": "Which one?"}]
    folder = read_folder(write_folder(tmp_path / "set", {"p": "One.", "q": "Two."}, asked, {}))
    folder.write_book(tmp_path / "book")
    pages = sorted(file.read_text(encoding="utf-8") for file in (tmp_path / "book").iterdir())
    assert pages == ["# Passage p\n\nOne.\n", "# Passage q\n\nTwo.\n"]


def test_a_file_of_questions(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(
        '{"question": "One?", "covered": true, "file": "a.md"}\n\n'
        '{"question": "Two?", "covered": false, "kind": "off-topic"}\n{"question": "Three?"}\n',
        encoding="utf-8",
    )
    questions = read_questions(file, covered=True)
    assert [q.covered for q in questions] == [True, False, True]
    assert [q.group for q in questions] == ["covered", "off-topic", "covered"]
    assert [q.covered for q in read_questions(file)] == [True, False, False]


def test_a_bad_file_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"question": "One?"}\n{"covered": true}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"questions\.jsonl:2"):
        read_questions(file)
    with pytest.raises(InputError, match="can't be read"):
        read_questions(tmp_path / "nothing.jsonl")
