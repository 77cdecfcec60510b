"""Units: the same however the text arrives, and whole where they must be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.language.segmentation import UnitStream, split_units
from language.answer_texts import MESSY


def fed(parts: list[str]) -> list[str]:
    stream = UnitStream()
    return [unit for part in parts for unit in stream.feed(part)] + stream.finish()


@given(MESSY)
def test_units_joined_are_the_text(text: str) -> None:
    units = split_units(text)
    assert "".join(units) == text
    assert all(units)


@given(MESSY)
def test_character_by_character_gives_the_same_units(text: str) -> None:
    assert fed(list(text)) == split_units(text)


@given(MESSY, st.data())
def test_any_split_gives_the_same_units(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert fed(parts) == split_units(text)


@given(MESSY)
def test_a_stream_can_be_used_again(text: str) -> None:
    stream = UnitStream()
    first = [*stream.feed(text), *stream.finish()]
    assert [*stream.feed(text), *stream.finish()] == first


@pytest.mark.parametrize(
    "units",
    [
        ["A node is a process.", " Nodes talk."],
        ["A process. [1]", " Nodes talk. [2] [3]", " Last."],
        ["A process.[1]", " Nodes talk.[2, 3]"],
        ["A process [1].", " Nodes talk [2]."],
        ["A process.\n", "Nodes talk.\n", "\nA paragraph."],
        ["- First item. [1]\n", "- Second item.", " Goes on. [2]\n"],
        ["1. First item.\n", "2. Second item.\n"],
        ["# 1. A title\n", "Text."],
        ["**1. Bold** text.", " More."],
        ['He said "stop."', " Then he left."],
        ['"Really?" he asked.', " Yes."],
        ['He said yes. "and then" he left.', " Ok."],
        ["Use e.g. a node.", " Then go."],
        ["Pi is 3.14 or so.", " Python 3.11 is out."],
        ["See main.py for it.", " Run `a. B` now."],
        ["机器人是机器。[1]", "它会动！", "真的？"],
        ["Ohne Ende"],
        ["Done. [note that never closes\n", "Next."],
    ],
)
def test_sentences(units: list[str]) -> None:
    text = "".join(units)
    assert split_units(text) == units
    assert fed(list(text)) == units


CODE = "```python\nx = 1. \n\nprint(x). [1]\n```\n"


@pytest.mark.parametrize(
    "units",
    [
        ["Do this:\n", CODE, "Then that."],
        ["Do this:\n", CODE + "[1]\n", "Then that."],
        ["Do this:\n", CODE + "[1]"],
        [CODE.rstrip("\n")],
        ["````md\n```\na. B\n```\n````\n", "Text."],
        ["~~~\n```\n~~~\n", "Text."],
        ["1. First:\n", "   ```\n   a. B\n   ```\n", "2. Second."],
        ["```\nnever. Closed\n\nmore. Text"],
        ["```a. B``` is inline.", " Next."],
        ["A table:\n", "| a. B | c |\n|---|---|\n| d | e. F |\n", "Text."],
        ["| a. B | c |\n|---|---|\n| d | e |"],
        ["| a | b |\n[1]\n", "Text."],
        ["| a | b |\n", "[1], as it says.\n"],
    ],
)
def test_blocks_are_whole(units: list[str]) -> None:
    text = "".join(units)
    assert split_units(text) == units
    assert fed(list(text)) == units


def test_a_unit_comes_as_soon_as_its_end_is_certain() -> None:
    stream = UnitStream()
    assert stream.feed("A process.") == []
    assert stream.feed(" [1]") == []
    assert stream.feed(" N") == ["A process. [1]"]
    assert stream.feed("odes talk.\n") == [" Nodes talk.\n"]
    assert stream.feed("```\ncode\n```\n") == []
    assert stream.feed("Text") == ["```\ncode\n```\n"]
    assert stream.finish() == ["Text"]


def test_many_open_brackets_take_no_time() -> None:
    """One with an exponential search would never end."""
    text = "```\na\n```\n" + "[ " * 400 + "x"
    assert "".join(split_units(text)) == text
