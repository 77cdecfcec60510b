"""The verifier on sentences of the sample book: true, changed, and against the wrong lesson."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from bythebook.grounding.verifier import Verifier
from grounding.conftest import Check
from grounding_samples import CHANGES, false_sentences, passages, true_sentences

PARAPHRASES = Path(__file__).parent.parent / "data" / "paraphrases.jsonl"


async def test_true_sentences_pass() -> None:
    """As they stand in the book: nobody needs to judge them."""
    sentences = true_sentences()
    assert len(sentences) > 1500
    verifier = Verifier(None, "en")
    failed = [
        one.text
        for one in sentences
        if not (await verifier.check(f"{one.text} [1]", one.passage)).supported
    ]
    assert len(failed) <= 0.01 * len(sentences), failed


@pytest.mark.parametrize("kind", CHANGES)
async def test_changed_sentences_fail(kind: str, check: Check) -> None:
    changed = list(false_sentences(kind))[:40]
    assert len(changed) == 40
    passed = [new for new, one in changed if (await check(f"{new} [1]", one.passage)).supported]
    assert len(passed) <= 0.1 * len(changed), passed


async def test_sentences_of_another_lesson_fail(check: Check) -> None:
    pick = random.Random(7)
    pairs = [
        (one, pick.choice([text for lesson, text in passages() if lesson != one.lesson]))
        for one in pick.sample(true_sentences(), 100)
    ]
    passed = [one.text for one, passage in pairs if (await check(one.text, passage)).supported]
    assert len(passed) <= 0.02 * len(pairs), passed


@pytest.mark.parametrize(("supported", "least"), [(True, 0.7), (False, 0.85)])
async def test_paraphrases(supported: bool, least: float, check: Check) -> None:
    """Written by hand: faithful ones, and ones that say something near but false."""
    rows = [json.loads(line) for line in PARAPHRASES.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["supported"] is supported]
    assert len(rows) >= 40
    wrong = []
    for row in rows:
        heading = re.compile(rf"^#+ {re.escape(row['section'])}", re.MULTILINE)
        found = [t for lesson, t in passages() if lesson == row["file"] and heading.search(t)]
        verdicts = [(await check(row["claim"], text)).supported for text in found]
        if any(verdicts) is not supported:
            wrong.append(row["claim"])
    assert len(rows) - len(wrong) >= least * len(rows), wrong
