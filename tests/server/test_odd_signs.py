"""Signs that a model writes and nobody can see, or that are no signs, don't reach a reader."""

from __future__ import annotations

import pytest

from bythebook.agent.sanitize import Cleaning
from server.conftest import Serve
from server.running import with_model
from standins.llm_server import LlmServer, says

QUESTION = "What is a service in ROS 2?"
TRUE = "A service is a request-and-reply connection"
SECOND = "\ude00"


@pytest.mark.parametrize("at", [0, 10, len(TRUE)])
async def test_half_a_sign_cuts_no_answer(serve: Serve, llm: LlmServer, at: int) -> None:
    llm.always(says(f"{TRUE[:at]}\ud83d{TRUE[at:]} [1]. {TRUE} [1]."))
    async with serve(**with_model(llm)) as up:
        events = await up.events(QUESTION)
        whole = await up.ask(QUESTION)
    assert events[-1][0] == "done", events[-1]
    assert whole.status_code == 200
    assert TRUE in whole.json()["response"]


@pytest.mark.parametrize("sign", ["\u202e", "\u2067", "\u200b", "\u2060", "\U000e0041", "\x1b"])
async def test_no_unseen_sign_is_shown(serve: Serve, llm: LlmServer, sign: str) -> None:
    llm.always(says(f"A {sign}service is a request-and{sign}-reply connection [1]."))
    async with serve(**with_model(llm)) as up:
        answer = (await up.ask(QUESTION)).json()["response"]
    assert TRUE in answer and sign not in answer


def test_halves_in_two_pieces_are_one_sign() -> None:
    cleaning = Cleaning()
    assert cleaning.clean("a\ud83d") + cleaning.clean(f"{SECOND}b") == "a\U0001f600b"
    assert (
        cleaning.clean("\ud83d") + cleaning.clean("c") + cleaning.clean(SECOND) == "\ufffdc\ufffd"
    )


def test_what_scripts_are_written_with_stays() -> None:
    text = "می\u200cخواهم क्\u200dष 👩\u200d💻 ❤\ufe0f\n\tcode"
    assert Cleaning().clean(text) == text
