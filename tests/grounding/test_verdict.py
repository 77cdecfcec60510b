"""A yes that the book does not say, and tables that answer with yes and no."""

from __future__ import annotations

import pytest

from bythebook.grounding.check import check

TABLE = """| Publisher offers | Subscription requests | Connected? |
|---|---|---|
| Reliable | Best effort | Yes |
| Best effort | Reliable | **No** |
| Volatile | Transient local | **No** |
| Transient local | Volatile | Yes, new messages only |
| Keep last | Keep all | Yes |
"""
PROSE = (
    "With *reliable*, the middleware sends again until the receiver has confirmed; with *best "
    "effort*, it sends once and forgets. Durability decides what late joiners get. With "
    "*volatile*, a subscription receives only the messages that a publisher sends afterwards."
)
QUESTION = "Can a reliable subscription receive messages from a best-effort publisher?"


@pytest.mark.parametrize("evidence", [TABLE, PROSE, f"{PROSE}\n\n{TABLE}"])
@pytest.mark.parametrize(
    "claim",
    [
        "Yes, a reliable subscription can receive messages from a best-effort publisher.",
        "A reliable subscription can receive messages from a best-effort publisher.",
        "Yes, a reliable subscription is connected to a best-effort publisher.",
    ],
)
def test_a_yes_in_the_questions_own_words_is_not_put_together(claim: str, evidence: str) -> None:
    assert not check(claim, evidence, question=QUESTION).supported


def test_a_table_of_yes_and_no_must_agree() -> None:
    wrong = "A publisher that keeps last is not connected to a subscription that keeps all."
    assert not check(wrong, TABLE).supported


def test_a_yes_that_one_sentence_says_is_supported() -> None:
    said = "A reliable subscription can receive messages from a reliable publisher."
    question = "Can a reliable subscription receive messages from a reliable publisher?"
    assert check(f"Yes, {said[0].lower()}{said[1:]}", said, question=question).supported
