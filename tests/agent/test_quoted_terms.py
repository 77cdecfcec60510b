"""The heading of an entry is shown with what is said of it, or not at all."""

from __future__ import annotations

from bythebook.agent.scheduling import FairTurns
from bythebook.agent.verified_stream import VerifiedStream
from bythebook.extractive.quotes import Quote
from bythebook.grounding.verifier import Verifier
from models.samples import passage

TEXT = "--port\n\nThe port to listen on."


def term() -> Quote:
    return Quote("--port", passage(text=TEXT), 0, 6, term=True)


def test_a_term_alone_is_neither_shown_nor_cited() -> None:
    stream = VerifiedStream([], Verifier(None, "en"), FairTurns())
    assert stream.quote(term()) == ""
    assert stream.citations == ()


def test_a_term_is_shown_and_cited_with_its_text() -> None:
    stream = VerifiedStream([], Verifier(None, "en"), FairTurns())
    stream.quote(term())
    shown = stream.quote(Quote(TEXT[8:], passage(text=TEXT), 8, len(TEXT)))
    assert shown == "--port\n\nThe port to listen on [1]."
    assert stream.citations[0].stretches == ((0, 6), (8, len(TEXT)))
