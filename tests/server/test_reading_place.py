"""Questions asked beside a page of the book: the page that is open, and text selected on it."""

from __future__ import annotations

from typing import Any

import pytest

from server.running import Running

GAZEBO = "/docs/module-2-gazebo/chapter-1-simulation-basics/running-gazebo"
NAV2 = "/docs/module-1-ros2/chapter-3-robot-models/navigation-with-nav2"
QOS = "/docs/module-1-ros2/chapter-2-communication/quality-of-service"
BOOK = "https://physical-ai.example"
SELECTED = (
    "With transient local, the publisher keeps its last messages and delivers them to "
    "subscriptions that appear later."
)


async def asked(up: Running, message: str, **more: Any) -> dict[str, Any]:
    response = await up.ask(message, **more)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def pages(answer: dict[str, Any]) -> set[str]:
    return {cited["source_url"].partition("#")[0] for cited in answer["citations"]}


@pytest.mark.parametrize("address", [f"{BOOK}{GAZEBO}", f"http://localhost:3000{GAZEBO}/?x=1#top"])
async def test_the_open_page_answers_what_several_could(up: Running, address: str) -> None:
    question = "How do I start the simulation?"
    anywhere = await asked(up, question)
    assert not anywhere["refused"] and f"{BOOK}{GAZEBO}" not in pages(anywhere)
    there = await asked(up, question, page=address)
    assert pages(there) == {f"{BOOK}{GAZEBO}"}
    assert any("the page you have open" in note for note in there["notes"])


async def test_a_page_that_only_mentions_it_gives_way(up: Running) -> None:
    question = "What is a launch file?"
    anywhere = await asked(up, question)
    beside = await asked(up, question, page=BOOK + NAV2)
    assert beside["response"] == anywhere["response"]
    assert not any("the page you have open" in note for note in beside["notes"])


async def test_a_page_that_is_not_in_the_book_changes_nothing(up: Running) -> None:
    question = "What is a launch file?"
    assert (await asked(up, question, page="https://elsewhere.example/"))["response"] == (
        await asked(up, question)
    )["response"]


async def test_a_question_about_selected_text(up: Running) -> None:
    answer = await asked(up, f"What does this mean?\n\n> {SELECTED}", page=BOOK + QOS)
    assert pages(answer) == {BOOK + QOS}
    assert "transient local" in answer["searched"]
    # What the reader has just read is not told again.
    assert "delivers them to subscriptions" not in answer["response"]
    # It is what is talked about from then on.
    more = await asked(up, "Why is that useful?", session_id=answer["session_id"])
    assert "transient local" in more["searched"]


async def test_selected_text_does_not_make_the_book_answer(up: Running) -> None:
    question = f"Who won the world cup in 2018?\n\n> {SELECTED}"
    answer = await asked(up, question, page=BOOK + QOS)
    assert answer["refused"]
    assert answer["searched"] == "Who won the world cup in 2018?"
