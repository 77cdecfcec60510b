"""Pieces: together they are the passage, and each is something a reader can be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.language.segmentation import ADMONITION, pieces_of, readable, units_of
from language.answer_texts import MESSY


def pieces(text: str) -> list[tuple[str, str]]:
    return [(piece.kind, text[piece.start : piece.end]) for piece in pieces_of(text)]


@given(MESSY)
def test_pieces_are_ordered_and_lose_no_word(text: str) -> None:
    position, block = 0, 0
    for piece in pieces_of(text):
        assert position <= piece.start < piece.end <= len(text)
        assert block <= piece.block
        left_out = text[position : piece.start]
        assert all(not line.strip() or ADMONITION.match(line) for line in left_out.split("\n"))
        assert text[piece.start : piece.end] == text[piece.start : piece.end].strip()
        position, block = piece.end, piece.block
    rest = text[position:]
    assert all(not line.strip() or ADMONITION.match(line) for line in rest.split("\n"))


def test_every_kind() -> None:
    text = (
        "# Nodes\n\nA node is a process. It computes.\n\n- one\n- two\n\n"
        "```py\nx = 1\n\ny = 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end."
    )
    assert pieces(text) == [
        ("heading", "# Nodes"),
        ("sentence", "A node is a process."),
        ("sentence", "It computes."),
        ("item", "- one"),
        ("item", "- two"),
        ("code", "```py\nx = 1\n\ny = 2\n```"),
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("sentence", "The end."),
    ]
    assert [piece.block for piece in pieces_of(text)] == [0, 1, 1, 2, 2, 3, 4, 5]
    row, other = [unit for unit in units_of(text) if unit.kind == "row"]
    assert text[row.start : row.end] == "| a | b |"
    assert (row.header, other.header) == (None, (row.start, row.end))


def test_what_is_below_an_item_belongs_to_it() -> None:
    text = "1. one\n   - a\n   - b\n\n   more of one\n2. two\ngoes on\n\n3. three\n\nText."
    assert pieces(text) == [
        ("item", "1. one\n   - a\n   - b\n\n   more of one"),
        ("item", "2. two\ngoes on"),
        ("item", "3. three"),
        ("sentence", "Text."),
    ]


def test_an_indented_list_that_ends_outside() -> None:
    assert pieces("  - a\n    - b\n- c") == [("item", "- a\n    - b"), ("item", "- c")]


def test_each_heading_is_a_piece() -> None:
    assert pieces("# A\n## B\ntext") == [
        ("heading", "# A"),
        ("heading", "## B"),
        ("sentence", "text"),
    ]


def test_admonitions_are_their_text() -> None:
    text = ":::note\nBe careful. It is hot.\n:::\n\n!!! tip\n    Use gloves."
    assert [each for _, each in pieces(text)] == ["Be careful.", "It is hot.", "Use gloves."]


def test_code_keeps_what_looks_like_something_else() -> None:
    for code in (
        "```\n# no heading\n- no item\n| no | table |\n```",
        "~~~\n```\n~~~",
        "````\n```\n````",
        "> ```\n> a\n> ```",
        "```\nnever closed",
        "```\r\na\r\n```",
    ):
        assert pieces(code) == [("code", code)]
    assert pieces("```\r\na\r\n```\r\nText.")[1] == ("sentence", "Text.")


@pytest.mark.parametrize(
    ("quoted", "shown"),
    [
        ("A node\nis a\n  process.", "A node is a process."),
        ("- An item.", "An item."),
        ("2) An item.", "An item."),
        ("> quoted\n> text", "quoted text"),
        ("See [the guide](https://a.example/b_(c)).", "See the guide."),
        ("See [the guide][ref] and [it][1].", "See the guide and it."),
        ("See [`rclpy`](x).", "See `rclpy`."),
        ("![A robot](r.png) It moves.", "It moves."),
        ("It moves [1], it stops.[2][3]", "It moves , it stops."),
        ("It moves.[^note]", "It moves."),
        ("It moves [1, 2] and [3-5] stops.", "It moves and stops."),
        ("Press [Esc] now.", "Press [Esc] now."),
        ("Take `a[0]` and a[1].", "Take `a[0]` and a[1]."),
        ("Run `x [1] > y`.", "Run `x [1] > y`."),
        ("If x > 5 - 3 then 2. stop", "If x > 5 - 3 then 2. stop"),
        ("The [1](https://a.example) link", "The 1 link"),
        ("", ""),
    ],
)
def test_readable(quoted: str, shown: str) -> None:
    assert readable(quoted) == shown


@given(MESSY.filter(lambda text: "`" not in text))
def test_readable_without_code_is_one_line(text: str) -> None:
    shown = readable(text)
    assert shown == " ".join(shown.split())


@given(st.lists(st.sampled_from("Nodes talk over topics 5 > 3 - 2 a_b x=1".split()), min_size=1))
def test_readable_leaves_plain_prose_alone(words: list[str]) -> None:
    prose = "So " + " ".join(words) + "."
    assert readable(prose) == prose
