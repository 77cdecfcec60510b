"""What passes the verifier and what does not, with the real reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.grounding.verifier import SUPPORTED, Verifier, is_connective
from bythebook.language.segmentation import pieces_of
from grounding.conftest import Check
from models.samples import passage

PAIRS = Path(__file__).parent.parent / "data" / "support_pairs.jsonl"
PASSAGE = """## Steps and time

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

It is not true that the motor needs a fan.
"""


def pairs() -> list[dict[str, Any]]:
    return [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]


# The reader takes who does what to whom for the same too often; a stricter threshold would withhold
# much that is true.
NOT_SEEN = pytest.mark.xfail(strict=True, reason="the reader does not tell them apart yet")


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row["claim"], marks=NOT_SEEN if row.get("not_seen") else ())
        for row in pairs()
    ],
)
async def test_pairs_that_were_judged_wrongly_once(row: dict[str, Any], check: Check) -> None:
    verdict = await check(row["claim"], row["passage"], row.get("language", "en"))
    assert verdict.supported is row["supported"], verdict


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
        "| Engine | Plugin | Bins |\n|---|---|---|\n| TPE | `gz-physics-tpe-plugin` | 32 |",
        "## Steps and time",
        "Start the server before the client. Most users usually set the rate with `max_step_size`, "
        "see [Physics](physics.md).",
    ],
)
@pytest.mark.parametrize("language", ["en", "de"])
async def test_verbatim_passes_without_a_reader(claim: str, language: str) -> None:
    verdict = await Verifier(None, language).check(claim, PASSAGE)
    assert (verdict.supported, verdict.score, verdict.reasons) == (True, 1.0, ())


@pytest.mark.parametrize(
    ("heading", "supported"), [("The admin server", True), ("The mail server", False)]
)
async def test_the_headings_above_a_passage_say_what_it_is_about(
    heading: str, supported: bool, check: Check
) -> None:
    """In its own words the passage says neither."""
    under = passage(
        text="It listens on port 9090 by default.", heading_path=["Installation", heading]
    )
    verdict = await check("The admin server listens on port 9090 by default.", under)
    assert verdict.supported is supported, verdict


@pytest.mark.parametrize(
    "claim",
    [
        "By default, Gazebo uses a step size of 0.001 s [2].",
        "By default, Gazebo uses a step size of 1 ms.",
        "The server does not wait for the client.",
    ],
)
async def test_paraphrases_pass(claim: str, check: Check) -> None:
    verdict = await check(claim, PASSAGE)
    assert verdict.supported, verdict


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("In Gazebo the default is 0.01 s.", "0.01"),
        ("In Gazebo the default is 0.001 ms.", "0.001 ms"),
        ("The default in Webots is 0.001 s.", "Webots"),
        ("The RTX factor is simulated time divided by real time.", "RTX"),
        ("Most users usually set the rate with `max_step_length`.", "max_step_length"),
        ("Run `gz sim -s -r --quiet`.", "--quiet"),
        ("Start the server from /opt/sim before the client.", "/opt/sim"),
        ("See [Physics](https://example.org/physics) for the rate.", "https://example.org/physics"),
        ("The server always waits for the client.", "say"),
        ("The server can be paused.", "say"),
        ("Start the server after the client.", "say"),
        ("Users always set the rate with `max_step_size`.", "say"),
        ("The motor needs a fan.", "say"),
        ("The torque of the flywheel is measured by an encoder.", "torque"),
        ("Would you like to know more about the step size?", "asks"),
        ("Yes.", ""),
        ("", "nothing"),
        ("[1]", "nothing"),
    ],
)
async def test_what_is_not_said_fails_with_a_reason(claim: str, reason: str, check: Check) -> None:
    verdict = await check(claim, PASSAGE)
    assert not verdict.supported
    assert verdict.score < SUPPORTED
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
async def test_code_of_the_passage_passes(code: str) -> None:
    verdict = await Verifier(None, "en").check(f"```python\n{code}\n```\n", PASSAGE)
    assert verdict.supported


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
async def test_other_code_fails(code: str, reason: str) -> None:
    verdict = await Verifier(None, "en").check(f"```python\n{code}\n```", PASSAGE)
    assert not verdict.supported
    assert any(reason in one for one in verdict.reasons), verdict.reasons


async def test_the_bearing_stretch_is_short_and_whole(check: Check) -> None:
    verdict = await check("By default, Gazebo uses a step size of 0.001 s.", PASSAGE)
    quoted = PASSAGE[verdict.start : verdict.end]
    assert "0.001 s" in quoted
    assert len(quoted) < len(PASSAGE) / 2
    assert verdict.start in {piece.start for piece in pieces_of(PASSAGE)}
    assert verdict.end in {piece.end for piece in pieces_of(PASSAGE)}


async def test_an_endless_sentence_is_refused() -> None:
    claim = "The step size is small, " * 200
    assert not (await Verifier(None, "en").check(claim, PASSAGE)).supported


@pytest.mark.parametrize(
    ("language", "passage", "claim", "invented"),
    [
        (
            "de",
            "Der Dienst antwortet genau einmal. Die Warteschlange fasst 10 Nachrichten.",
            "10 Nachrichten fasst die Warteschlange.",
            "Die Warteschlange fasst 20 Nachrichten.",
        ),
        (
            "fr",
            "Le service répond une seule fois. La file ne contient pas de messages vides.",
            "La file ne contient pas de messages.",
            "La file contient de messages vides.",
        ),
        ("zh", "机器人有两个轮子。电池可用5小时。", "电池可用5小时。", "雷达的价格很高。"),
    ],
)
async def test_where_the_reader_cannot_judge_the_words_must_be_there(
    language: str, passage: str, claim: str, invented: str
) -> None:
    verifier = Verifier(None, language)
    assert (await verifier.check(claim, passage)).supported
    assert not (await verifier.check(invented, passage)).supported


MARKED = st.text(alphabet="ab A1.0,;:|`*_[]()#>-\n'\"?é中", max_size=60)


@given(MARKED, MARKED)
async def test_nothing_crashes_and_offsets_are_inside(claim: str, evidence: str) -> None:
    verdict = await Verifier(None, "en", claim).check(claim, evidence)
    assert 0 <= verdict.start <= verdict.end <= len(evidence)
    assert 0.0 <= verdict.score <= 1.0
    assert verdict.supported == (not verdict.reasons)
    assert isinstance(is_connective(claim), bool)
