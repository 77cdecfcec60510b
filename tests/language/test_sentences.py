"""Where sentences end and where they do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.language.segmentation import split_sentences, trimmed
from language.answer_texts import MESSY


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@given(MESSY)
def test_offsets_are_ordered_and_lose_no_word(text: str) -> None:
    position = 0
    for start, end in split_sentences(text):
        assert position <= start < end
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()


@given(MESSY, st.data())
def test_a_stretch_is_cut_as_if_it_stood_alone(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    for left, right in split_sentences(text, start, end):
        assert start <= left < right <= end


@given(st.text())
def test_trimmed_is_strip(text: str) -> None:
    start, end = trimmed(text, 0, len(text))
    assert text[start:end] == text.strip()


@pytest.mark.parametrize(
    "expected",
    [
        ["A node is a process.", "Nodes talk over topics."],
        ["Is it?", "It is!", "So be it…", "Well."],
        ["He said “stop.”", "Then he left."],
        ["It ended (at last.)", "Then more."],
        ["It is **bold.**", "Then more."],
        ["It says so. [1]", "And so. [2, 3]", "End."],
        ["It says so.[1][2]", "End."],
        ["It ends with etc.", "A new one."],
        ["It began at 5 p.m.", "Then more."],
        ["The answer is 42.", "Then more."],
        ["机器人是机器。", "它会动！", "「真的？」", "是。"],
        ["Один.", "Два."],
        ["A title without an end\n\nnext paragraph."],
        ["It ended.\n\n", "next paragraph."],
    ],
)
def test_boundaries(expected: list[str]) -> None:
    joint = "" if expected[0].endswith("。") else " "
    assert sentences(joint.join(expected)) == [each.strip() for each in expected]


@pytest.mark.parametrize(
    "sentence",
    [
        "Use e.g. Python, i.e. a language.",
        "See Fig. 3 and Eq. 4 of Dr. Smith et al. for more.",
        "Compare cf. The Book and vs. The Film.",
        "J. R. R. Tolkien wrote it.",
        "Pi is 3.14 and Python is 3.11.4 now.",
        "Open main.py or setup.cfg in src/a.b/ first.",
        "Run `ros2 run a. B` to begin.",
        "Visit https://a.example/b.html?c=d for more.",
        "Wait... what is it?",
        "“Really?” he asked.",
        "1. The first item.",
        "**2. The second** item.",
        "# 3. A title",
        "The U.S. Army and the U.K. Navy.",
        "no capital. then more",
    ],
)
def test_no_boundary(sentence: str) -> None:
    assert sentences(sentence) == [sentence]
