"""Stretches and units hold for any text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bythebook.reader.network import OVERLAP, WINDOW, evidence_units, unit_scores, windows

MARKDOWN = st.lists(
    st.sampled_from(
        [
            *("# Head\n", "Some words here. And more!\n", "\n", "- an item\n", "1. first\n"),
            *("   more of it\n", "::: note\n", "é ß 漢字。\n", "ls -l\n", "```sh\n", "```\n"),
            *("| a | b |\n", "|---|---|\n"),
        ]
    ),
    max_size=40,
).map("".join)


@given(st.integers(0, 5000))
def test_stretches_hold_every_piece_and_overlap(length: int) -> None:
    found = windows(length)
    assert found[0][0] == 0
    assert found[-1][1] == length
    assert all(end - start <= WINDOW for start, end in found)
    for (_, end), (start, _) in pairwise(found):
        assert end - start == OVERLAP


@given(MARKDOWN)
def test_units_are_in_order_and_apart(text: str) -> None:
    found = evidence_units(text)
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(before[1] <= after[0] for before, after in pairwise(found))


@given(MARKDOWN)
def test_every_unit_has_the_mean_of_its_pieces(text: str) -> None:
    characters = [(place, place + 1) for place in range(len(text))]
    for start, end, score in unit_scores(text, characters, [1.0] * len(text)):
        assert (start, end) in evidence_units(text)
        assert score == 1.0
