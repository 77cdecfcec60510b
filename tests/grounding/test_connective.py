"""What only leads from one sentence to the next needs no evidence."""

from __future__ import annotations

import pytest

from bythebook.grounding.verifier import is_connective


@pytest.mark.parametrize(
    "unit",
    ["Here are the steps:", "For example:", "In summary,", "However,", "## Overview",
        "**Key points:**", "Follow these steps:", "According to the book:", "| --- | :-: |", "",
        "  \n"],
)  # fmt: skip
def test_connectives(unit: str) -> None:
    assert is_connective(unit)


@pytest.mark.parametrize(
    "unit",
    ["Yes.", "No.", "The battery lasts:", "Here are 5 steps:", "Install Gazebo:",
        "## Safety limits", "For example, use `ros2`:", "It is safe.", "```\ncode\n```",
        "| a | b |",
        "Robots are safe:"],
)  # fmt: skip
def test_what_says_something_is_no_connective(unit: str) -> None:
    assert not is_connective(unit)
