"""Rules of the check, one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.grounding.check import check, is_connective
from bythebook.language.pieces import pieces_of

PASSAGE = """Simulation > Physics

## Steps and time

The **step size** is the amount of simulated time that one step covers. In Gazebo the default is
0.001 s, which makes one thousand steps for each second. The real-time factor (RTF) is simulated
time divided by real time. The server never waits for the client, and it cannot be paused. Start
the server before the client. Most users usually set the rate with `max_step_size`, see
[Physics](physics.md).

| Engine | Plugin | Bins |
|--------|--------|------|
| DART | `gz-physics-dartsim-plugin` | 16 |
| TPE | `gz-physics-tpe-plugin` | 32 |

1. Run `gz sim -s -r --verbose`. It prints the factor of every world.
2. Lower the rate of cameras.

```python
import numpy as np

BINS = 256
low = np.quantile(actions, 0.01, axis=0)
high = np.quantile(actions, 0.99, axis=0)
```

A callback waits for the response, and the executor delivers the response to the callback.
"""


@pytest.mark.parametrize(
    "claim",
    [
        "The step size is the amount of simulated time that one step covers. [1]",
        "the **step size** is the amount of simulated time that one step covers [1, 2].",
        "- Lower the rate of cameras.",
        "2. Lower the rate of cameras [3]",
        "It prints the factor of every world.",
        "Most users usually set the rate with `max_step_size`, see Physics.",
        "| TPE | `gz-physics-tpe-plugin` | 32 |",
        "## Steps and time",
        "Start the server before the client. Most users usually set the rate with `max_step_size`, "
        "see [Physics](physics.md).",
    ],
)
def test_verbatim_passes_with_full_score(claim: str) -> None:
    verdict = check(claim, PASSAGE)
    assert (verdict.supported, verdict.score, verdict.reasons) == (True, 1.0, ())


@pytest.mark.parametrize(
    "claim",
    [
        "By default, Gazebo uses a step size of 0.001 s [2].",
        "The default step size in Gazebo is 0.001 seconds, so there are 1,000 steps per second.",
        "RTF means simulated time divided by real time.",
        "You should start the server before you start the client.",
        "The server does not wait for the client.",
        "DART uses the plugin `gz-physics-dartsim-plugin`.",
        "Use `gz sim -s -r --verbose` to print the factor of every world.",
        "There are two engines: DART and TPE.",
    ],
)
def test_paraphrases_pass(claim: str) -> None:
    verdict = check(claim, PASSAGE)
    assert verdict.supported, verdict


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("In Gazebo the default is 0.01 s.", "0.01"),
        ("In Gazebo the default is 0.001 ms.", "0.001 ms"),
        ("The number of bins of TPE is 16.", "16"),
        ("There are three engines: DART and TPE.", "three"),
        ("In Webots the default is 0.001 s.", "Webots"),
        ("Webots loads an engine for simulated time.", "Webots"),
        ("The RTX factor is simulated time divided by real time.", "RTX"),
        ("Most users usually set the rate with `max_step_length`.", "max_step_length"),
        ("Run `gz sim -s -r --quiet`.", "--quiet"),
        ("Start the server from /opt/sim before the client.", "/opt/sim"),
        ("See [Physics](https://example.org/physics) for the rate.", "https://example.org/physics"),
        ("The server always waits for the client.", "never"),
        ("The server waits for the client.", "never"),
        ("The server can be paused.", "paused"),
        ("Start the server after the client.", "before"),
        ("Start the client before the server.", "before"),
        ("The real-time factor is real time divided by simulated time.", "divided"),
        ("Users always set the rate with `max_step_size`.", "always"),
        ("The callback delivers the response to the executor.", "delivers"),
        ("| TPE | `gz-physics-dartsim-plugin` | 32 |", "row"),
        ("The torque of the flywheel is measured by an encoder.", "torque"),
        ("I love the step size of one step.", ""),
        ("Would you like to know more about the step size?", ""),
        ("Yes.", ""),
        ("", ""),
        ("[1]", ""),
    ],
)
def test_what_is_not_said_fails_with_a_reason(claim: str, reason: str) -> None:
    verdict = check(claim, PASSAGE)
    assert not verdict.supported
    assert verdict.score < 0.5
    assert verdict.reasons
    assert any(reason in one for one in verdict.reasons), verdict.reasons


@pytest.mark.parametrize(
    "code",
    [
        "BINS = 256",
        "low = np.quantile(actions, 0.01, axis=0)\nhigh = np.quantile(actions, 0.99, axis=0)",
        "import numpy as np\n\n    BINS  =  256\n# ...\nhigh = np.quantile(actions, 0.99, axis=0)",
        "gz sim -s -r --verbose",
        "$ gz sim -s -r --verbose",
    ],
)
def test_code_of_the_passage_passes(code: str) -> None:
    assert check(f"```python\n{code}\n```\n", PASSAGE).supported


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("BINS = 512", "BINS = 512"),
        ("low = np.percentile(actions, 0.01, axis=0)", "percentile"),
        ("BINS = 256\nimport numpy as np", "order"),
        ("# number of bins\nBINS = 256", "# number of bins"),
        ("", "empty"),
    ],
)
def test_other_code_fails(code: str, reason: str) -> None:
    verdict = check(f"```python\n{code}\n```", PASSAGE)
    assert not verdict.supported
    assert any(reason in one for one in verdict.reasons), verdict.reasons


def test_the_bearing_stretch_is_short_and_whole() -> None:
    verdict = check("By default, Gazebo uses a step size of 0.001 s.", PASSAGE)
    quoted = PASSAGE[verdict.start : verdict.end]
    assert quoted.startswith(("The **step size**", "In Gazebo"))
    assert quoted.endswith("for each second.")
    edges = (
        {piece.start for piece in pieces_of(PASSAGE)},
        {piece.end for piece in pieces_of(PASSAGE)},
    )
    assert verdict.start in edges[0]
    assert verdict.end in edges[1]


def test_an_endless_sentence_is_refused() -> None:
    assert not check("The step size is small, " * 200, PASSAGE).supported


def test_numbers_that_changed_places_fail() -> None:
    passage = "An action is made of three services and two topics."
    assert check("Three services and two topics make an action.", passage).supported
    assert not check("An action is made of two services and three topics.", passage).supported


def test_the_head_of_one_statement_with_the_tail_of_another_fails() -> None:
    passage = "A goal is aborted when the server gives up; it is canceled when the client asked."
    assert check("A goal is canceled when the client asked.", passage).supported
    assert not check("A goal is aborted when the client asked.", passage).supported


def test_a_sentence_inside_a_denial_is_not_supported() -> None:
    passage = "It is not true that the motor needs a fan."
    assert not check("The motor needs a fan.", passage).supported


def test_a_question_is_no_evidence() -> None:
    claim = "Unity supports the DART engine with 7 joints."
    passage = "Gazebo supports the DART engine."
    assert not check(claim, passage, question="Does Unity support DART with 7 joints?").supported


@pytest.mark.parametrize(
    ("language", "passage", "claim", "invented"),
    [
        (
            "de",
            "Der Dienst antwortet genau einmal. Die Warteschlange fasst 10 Nachrichten.",
            "Die Warteschlange fasst 10 Nachrichten.",
            "Die Warteschlange fasst 20 Nachrichten.",
        ),
        (
            "fr",
            "Le service répond une seule fois. La file contient 10 messages.",
            "La file contient 10 messages.",
            "La file contient 20 messages.",
        ),
        ("zh", "机器人有两个轮子。电池可用5小时。", "电池可用5小时。", "雷达的价格很高。"),
    ],
)
def test_other_languages(language: str, passage: str, claim: str, invented: str) -> None:
    assert check(claim, passage, language).supported
    assert not check(invented, passage, language).supported


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


MARKED = st.text(alphabet="ab A1.0,;:|`*_[]()#>-\n'\"?é中", max_size=60)


@given(MARKED, MARKED)
def test_nothing_crashes_and_offsets_are_inside(claim: str, evidence: str) -> None:
    verdict = check(claim, evidence, question=claim)
    assert 0 <= verdict.start <= verdict.end <= len(evidence)
    assert 0.0 <= verdict.score <= 1.0
    assert verdict.supported == (not verdict.reasons) == (verdict.score >= 0.5)
    assert isinstance(is_connective(claim), bool)
