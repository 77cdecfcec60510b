"""No text is so long, and no expression so written, that looking through it takes for ever."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from scripts.check_patterns import attacks, nested_repetitions
from scripts.expressions import expressions

from bythebook.agent.scheduling import FairTurns
from bythebook.agent.verified_stream import VerifiedStream
from bythebook.grounding.verifier import Verifier
from bythebook.language.detection import normalize
from bythebook.language.segmentation import LONGEST_UNIT, UnitStream
from extent import examples

blanks = st.text(st.sampled_from(" \n\t\r\u00a0"), max_size=60)


@given(st.lists(st.tuples(blanks, st.text(max_size=5))))
def test_no_long_white_space_is_left(parts: list[tuple[str, str]]) -> None:
    text = "".join(blank + word for blank, word in parts)
    kept = normalize(text)
    assert kept.split() == text.split(), "no word is lost or joined"
    longest = run = 0
    for sign in kept:
        run = run + 1 if sign.isspace() else 0
        longest = max(longest, run)
    assert longest <= 16
    assert normalize(kept) == kept


def test_what_people_write_stays() -> None:
    code = "def f():\n    if x:\n        return 1\n\n\nWhat does it do?"
    assert normalize(code) == code


@settings(max_examples=examples(12))
@given(
    st.integers(LONGEST_UNIT - 50, LONGEST_UNIT + 50),
    st.sampled_from(["\t", "`", "a", "|", "~~~\n", "[1: "]),
)
async def test_an_endless_sentence_comes_in_pieces_and_is_not_shown(size: int, sign: str) -> None:
    text = "A" + sign * (size // len(sign))
    stream = UnitStream()
    units = stream.feed(text)
    assert len(stream._text) < LONGEST_UNIT
    assert "".join([*units, *stream.finish()]) == text
    verified = VerifiedStream([], Verifier(None, "en"), FairTurns())
    assert not [shown async for shown in verified.feed(text)]
    assert not [shown async for shown in verified.finish()]
    assert not list(verified.conclude())


def test_no_expression_repeats_a_repetition() -> None:
    """Such as `(a+)+`, which takes twice as long for each letter; `make patterns` measures."""
    found = expressions()
    assert len(found) > 300
    bad = {each.place: nested_repetitions(each.pattern) for each in found}
    assert not {place: parts for place, parts in bad.items() if parts}


def test_a_string_that_never_ends_is_among_the_attacks() -> None:
    """Where each of its escaped quotes could be the beginning of another one."""
    strings = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
    assert ("", '\\"', "\x00") in set(attacks(strings))
