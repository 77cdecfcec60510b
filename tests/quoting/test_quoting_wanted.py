"""A question for a value is not answered by sentences that hold none."""

from __future__ import annotations

import pytest

from bythebook.quoting.compose import compose
from quoting.quoting_tools import excerpts

LEAD = "The Orin Nano is a small computer for robots. "


@pytest.mark.parametrize(
    ("question", "silent", "told"),
    [
        (
            "How much does the Orin Nano cost?",
            "The Orin Nano has 8 GB of memory.",
            "The Orin Nano costs 249 dollars.",
        ),
        (
            "How many cores does the Orin Nano have?",
            "The cores of the Orin Nano run ROS 2 well.",
            "The Orin Nano has six cores.",
        ),
        (
            "Who founded the Orin Nano project?",
            "The Orin Nano project is popular with many people.",
            "The Orin Nano project was founded by Ada Lovelace.",
        ),
        (
            "When was the Orin Nano released?",
            "The Orin Nano was released to replace an older board.",
            "The Orin Nano was released in March 2023.",
        ),
        (
            "Show me the code for the Orin Nano",
            "The Orin Nano runs the code of many robots.",
            "The Orin Nano starts with `nano.start()`.",
        ),
    ],
)
def test_only_a_sentence_that_can_hold_the_value_answers(
    question: str, silent: str, told: str
) -> None:
    assert compose(question, excerpts(LEAD + silent)) == ""
    assert told[:-1] in compose(question, excerpts(LEAD + told))


def test_what_is_told_of_another_platform_does_not_answer() -> None:
    ubuntu = "To install the simulator on Ubuntu, add the package source and run `apt install sim`."
    other = "Names of packages differ from one system to the next, say on macOS."
    both = excerpts(ubuntu, other)
    assert "apt install sim" in compose("How do I install the simulator on Ubuntu?", both)
    assert "apt install sim" not in compose("How do I install the simulator on macOS?", both)
