"""The documentation is a book, too: asked what newcomers ask, it answers from the right page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts.ask_docs import QUESTIONS, ask_docs

DOCS = Path(__file__).parents[1] / "docs"


def test_the_questions_name_pages_that_exist() -> None:
    asked = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    assert len([one for one in asked if one["pages"]]) == 20
    for one in asked:
        assert all((DOCS / page).is_file() for page in one["pages"]), one["question"]


@pytest.mark.slow
async def test_newcomers_find_their_answers(tmp_path: Path) -> None:
    asked = [one async for one in ask_docs(tmp_path)]
    covered = [one for one in asked if one.pages]
    wrong = [one.question for one in covered if not one.is_right]
    assert len(covered) - len(wrong) >= 15, wrong
    assert [one.question for one in asked if not one.pages and not one.is_right] == []
