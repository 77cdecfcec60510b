"""Answers as the reader finds them in the sample book: what is shown, and what is not."""

from __future__ import annotations

import pytest

from agent.conftest import Assistants
from agent.listening import answer_in, listen
from bythebook.agent.prompts import LOW_CONFIDENCE
from bythebook.models.conversation import Conversation
from bythebook.models.search_messages import SearchFilters

pytestmark = pytest.mark.usefixtures("with_reader")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is a node in ROS 2?", "participant in a ROS 2 system"),
        ("ros2 node list still shows nodes I shut down. How do I refresh it?", "ros2 daemon stop"),
        ("ros2 node list still shows nodes I shut down. How do I refrsh it?", "ros2 daemon stop"),
        ("What is the difference between a topic and a service?", "use a service"),
    ],
)
async def test_the_answer_stands_first(built_in: Assistants, question: str, said: str) -> None:
    async with built_in() as assistant:
        answer = answer_in(await listen(assistant.stream(question)))
    text = answer.text.removeprefix(LOW_CONFIDENCE).lstrip()
    assert said in text[:600] and "- [ ]" not in text
    assert len({citation.passage.id for citation in answer.citations}) == 1


async def test_one_passage_that_answers_is_enough(built_in: Assistants) -> None:
    async with built_in() as assistant:
        answer = await assistant.ask("What is a node in ROS 2?", top_k=1)
    assert not answer.refused and len(answer.passages) == 1
    assert answer.confidence.should_answer


async def test_a_warning_stands_above_the_answer(built_in: Assistants) -> None:
    async with built_in() as assistant:
        answer = answer_in(
            await listen(assistant.stream("Which queue depth is best for control commands?"))
        )
    assert answer.confidence.confidence_level == "low"
    assert answer.text.startswith(f"{LOW_CONFIDENCE}\n\n")
    first = answer.sentences[0]
    assert answer.text[first.start : first.end].startswith("For control")


async def test_a_filter_holds_for_questions_about_the_book_too(built_in: Assistants) -> None:
    async with built_in() as assistant:
        answer = await assistant.ask(
            "What is this book about?", filters=SearchFilters(module_filter="gazebo")
        )
    assert all(passage.metadata.module == "gazebo" for passage in answer.passages)


async def test_more_is_not_what_was_said_before(built_in: Assistants) -> None:
    talk = Conversation()
    async with built_in() as assistant:
        first = await assistant.ask("What is a node in ROS 2?", talk)
        more = await assistant.ask("Tell me more", talk)
    shown = {first.text[each.start : each.end] for each in first.sentences}
    assert more.text and not shown & {more.text[each.start : each.end] for each in more.sentences}


@pytest.mark.parametrize(
    ("message", "reply"), [("hello!", "Hello!"), ("ok, thanks a lot", "You're welcome!")]
)
async def test_small_talk_gets_one_friendly_line(
    built_in: Assistants, message: str, reply: str
) -> None:
    async with built_in() as assistant:
        answer = answer_in(await listen(assistant.stream(message)))
    assert answer.text.startswith(reply) and "Physical AI and Robotics" in answer.text
    assert answer.small_talk and not answer.tool_calls and not answer.citations
