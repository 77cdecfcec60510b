"""Markers are taken out of what a model writes, in every form models use, and put back as one."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bythebook.agent.citations import MARKER, put_markers, take_markers


@pytest.mark.parametrize(
    ("written", "text", "numbers"),
    [
        ("Topics are channels [2].", "Topics are channels.", (2,)),
        ("Topics are channels. [1][3]", "Topics are channels.", (1, 3)),
        ("Topics are channels.[1, 3]", "Topics are channels.", (1, 3)),
        ("Three at once [1-3].", "Three at once.", (1, 2, 3)),
        ("A label [Source 2].", "A label.", (2,)),
        ("A label [source: 2, 4].", "A label.", (2, 4)),
        ("A footnote [^2].", "A footnote.", (2,)),
        ("Full width【3†source】.", "Full width.", (3,)),
        ("The same twice [1] and again [1].", "The same twice and again.", (1,)),
        ("Nothing here.", "Nothing here.", ()),
        ("Code `a[1]` stays.", "Code `a[1]` stays.", ()),
        ("```\nx[0] = y[1]\n```\n[2]\n", "```\nx[0] = y[1]\n```\n\n", (2,)),
        ("A [link](page.md) and a [word].", "A [link](page.md) and a [word].", ()),
    ],
)
def test_markers_are_taken(written: str, text: str, numbers: tuple[int, ...]) -> None:
    taken = take_markers(written)
    assert (taken.text, taken.numbers) == (text, numbers)


def test_a_translation_brings_the_words_it_translates() -> None:
    taken = take_markers('Ein Knoten rechnet [1: "A node is a process. It computes"].')
    assert taken.text == "Ein Knoten rechnet."
    assert taken.numbers == (1,) and taken.quotes == ("A node is a process. It computes",)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A sentence.", "A sentence [1][2]."),
        ("Is it?", "Is it [1][2]?"),
        ("The steps are:", "The steps are [1][2]:"),
        ("- an item", "- an item [1][2]"),
        ("He said “yes.”", "He said “yes [1][2].”"),
        ("```\ncode\n```", "```\ncode\n```\n[1][2]"),
        ("| a | b |\n| - | - |", "| a | b |\n| - | - |\n\n[1][2]"),
    ],
)
def test_markers_stand_where_a_reader_expects_them(text: str, shown: str) -> None:
    assert put_markers(text, (1, 2)) == shown


@example("a [[1]2] b")
@given(st.text(alphabet="ab [1]2,.^`\n"))
def test_no_marker_is_left_outside_code(text: str) -> None:
    taken = take_markers(text)
    outside = re.sub(r"```.*?```|~~~.*?~~~|`[^`\n]*`", "", taken.text, flags=re.DOTALL)
    # Taking one marker out may not put another one together.
    assert not MARKER.search(outside), taken.text
