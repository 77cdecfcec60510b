"""The heading of an entry is shown with what is said of it, or not at all."""

from __future__ import annotations

from bythebook.agent.release import Releaser
from bythebook.agent.rounds import Rounds
from bythebook.extractive.answer import Quote
from bythebook.grounding.verifier import Verifier
from seeds.seed_samples import passage

TEXT = "--port\n\nThe port to listen on."


def term() -> Quote:
    return Quote("--port", passage(text=TEXT), 0, 6, term=True)


def test_a_term_alone_is_neither_shown_nor_cited() -> None:
    releaser = Releaser([], Verifier(None, "en"), Rounds())
    assert releaser.quote(term()) == ""
    assert releaser.citations == ()


def test_a_term_is_shown_and_cited_with_its_text() -> None:
    releaser = Releaser([], Verifier(None, "en"), Rounds())
    releaser.quote(term())
    shown = releaser.quote(Quote(TEXT[8:], passage(text=TEXT), 8, len(TEXT)))
    assert shown == "--port\n\nThe port to listen on [1]."
    assert releaser.citations[0].stretches == ((0, 6), (8, len(TEXT)))
