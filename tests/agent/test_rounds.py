"""Between two long steps of answers, whatever else came in has its turn."""

from __future__ import annotations

import asyncio

from bythebook.agent.scheduling import FairTurns
from extent import PATIENCE


async def test_others_go_between_two_steps() -> None:
    fair_turns = FairTurns()
    seen: list[str] = []

    async def answer(name: str) -> None:
        for _ in range(3):
            await fair_turns.next()
            seen.append(name)

    answers = [asyncio.create_task(answer(name)) for name in "abcd"]
    while not all(task.done() for task in answers):
        seen.append("-")
        await asyncio.sleep(0)
    steps = "".join(seen).split("-")
    assert max(len(step) for step in steps) == 1
    assert sorted("".join(steps)) == sorted("abcd" * 3)


async def test_an_answer_that_is_given_up_holds_nobody_up() -> None:
    fair_turns = FairTurns()
    first, given_up, last = (asyncio.create_task(fair_turns.next()) for _ in range(3))
    await first
    given_up.cancel()
    async with asyncio.timeout(PATIENCE):
        await last
    assert given_up.cancelled()
