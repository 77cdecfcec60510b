"""A question in another language is answered in it, from words of the book that are shown."""

from __future__ import annotations

from agent.conftest import Assistants
from agent.listening import answer_in, listen
from standins.llm_server import LlmServer, calls_tool, says

QUESTION = "Was ist ein Service in ROS 2?"
QUOTE = "A service is a request-and-reply connection"


async def test_a_translated_sentence_rests_on_a_quotation(
    with_llm: Assistants, llm: LlmServer, streaming: bool
) -> None:
    llm.script(
        calls_tool("What is a service in ROS 2?"),
        says(
            f'Ein Service verbindet Anfrage und Antwort [1: "{QUOTE}"]. '
            'Er wurde 1999 erfunden [1: "A service is a request-and-reply connection"]. '
            'Er ist sehr beliebt [1: "Services are very popular with all robots"]. '
            "Er ist schnell [1]."
        ),
    )
    async with with_llm(openai_stream=streaming) as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert answer.text == "Ein Service verbindet Anfrage und Antwort [1]."
    assert "request-and-reply" in answer.citations[0].quote and answer.removed == 3
    assert any("English" in note for note in answer.notes)
    assert "German" in llm.bodies[0]["messages"][0]["content"]


async def test_the_built_in_answerer_names_the_books_language(built_in: Assistants) -> None:
    async with built_in() as assistant:
        answer = answer_in(await listen(assistant.stream(QUESTION)))
    assert any("English" in note for note in answer.notes)
