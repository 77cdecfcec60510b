"""The check on every sentence of the sample book: true, changed, and against the wrong lesson."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from bythebook.grounding.check import Support, check
from grounding_samples import CHANGES, false_sentences, passages, true_sentences

PARAPHRASES = Path(__file__).parent.parent / "data" / "paraphrases.jsonl"


def test_true_sentences_pass() -> None:
    sentences = true_sentences()
    assert len(sentences) > 1500
    failed = [one.text for one in sentences if not check(f"{one.text} [1]", one.passage).supported]
    assert len(failed) <= 0.01 * len(sentences), failed


@pytest.mark.parametrize("kind", CHANGES)
def test_changed_sentences_fail(kind: str) -> None:
    changed = list(false_sentences(kind))
    assert len(changed) >= 40
    passed = [new for new, one in changed if check(f"{new} [1]", one.passage).supported]
    assert len(passed) <= 0.05 * len(changed), passed


def test_sentences_of_another_lesson_fail() -> None:
    pick = random.Random(7)
    pairs = [
        (one, pick.choice([text for lesson, text in passages() if lesson != one.lesson]))
        for one in true_sentences()[::2]
    ]
    passed = [one.text for one, passage in pairs if check(one.text, passage).supported]
    assert len(passed) <= 0.02 * len(pairs), passed


def _verdict(row: dict[str, Any]) -> Support:
    heading = re.compile(rf"^#+ {re.escape(row['section'])}", re.MULTILINE)
    found = [text for lesson, text in passages() if lesson == row["file"] and heading.search(text)]
    assert found, row
    return max((check(row["claim"], text) for text in found), key=lambda s: (s.supported, s.score))


@pytest.mark.parametrize(("supported", "least"), [(True, 0.85), (False, 0.8)])
def test_paraphrases(supported: bool, least: float) -> None:
    """Written by hand: faithful ones, and ones that say something near but false."""
    rows = [json.loads(line) for line in PARAPHRASES.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["supported"] is supported]
    assert len(rows) >= 40
    wrong = [row["claim"] for row in rows if _verdict(row).supported is not supported]
    assert len(rows) - len(wrong) >= least * len(rows), wrong
