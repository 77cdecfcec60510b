"""The sample book without any key: what it covers is answered from the right place, what it does
not is refused, and a conversation keeps its references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.conftest import Assistants
from agent.listening import answer_in, listen
from bythebook.models.answer import Answer
from bythebook.models.conversation import Conversation
from extent import FULL

# One worker, which reads no passage twice for a question.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("with_reader"),
    pytest.mark.xdist_group("questions"),
]

DATA = Path(__file__).parents[1] / "data"


def lines_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def files_cited(answer: Answer) -> set[str]:
    return {cited.passage.metadata.source_file for cited in answer.citations}


async def test_covered_questions_are_answered_from_the_right_place(built_in: Assistants) -> None:
    asked = [line for line in lines_of("ask_final.jsonl") if line["covered"]]
    wrong: list[str] = []
    async with built_in() as assistant:
        for line in asked:
            answer = answer_in(await listen(assistant.stream(line["question"])))
            if not files_cited(answer) & {line["file"], *line["also"]}:
                wrong.append(line["question"])
            several = answer.confidence.num_chunks > 1
            assert (answer.confidence.chunk_diversity > 0) is several
    assert len(asked) == 20 and len(wrong) <= 1, wrong


async def test_uncovered_questions_are_refused(built_in: Assistants) -> None:
    asked = [line for line in lines_of("ask_final.jsonl") if not line["covered"]]
    answered: list[str] = []
    async with built_in() as assistant:
        for line in asked:
            answer = answer_in(await listen(assistant.stream(line["question"])))
            if not answer.refused:
                answered.append(line["question"])
    assert len(asked) == 20 and len(answered) <= 1, answered


async def test_a_conversation_of_fifteen_turns_keeps_its_references(built_in: Assistants) -> None:
    talk = Conversation()
    wrong: list[str] = []
    second_source = ""
    lines = lines_of("conversation.jsonl")
    async with built_in() as assistant:
        for line in lines:
            answer = answer_in(await listen(assistant.stream(line["message"], talk)))
            right: set[str] = {second_source} if not line["file"] else set(line["file"])
            fits = answer.refused if line["refuse"] else bool(files_cited(answer) & right)
            if not fits:
                wrong.append(f"{line['turn']}: {line['message']}")
            if len(answer.citations) > 1:
                second_source = answer.citations[1].passage.metadata.source_file
            elif answer.citations:
                second_source = answer.citations[0].passage.metadata.source_file
    assert len(lines) == 15 and len(talk.turns) == 15
    assert len(wrong) <= 2, wrong


async def test_all_questions_together(built_in: Assistants) -> None:
    """What was used for development counts here too: a fence against getting worse."""
    covered: list[bool] = []
    refused: list[bool] = []
    async with built_in() as assistant:
        for name in ("ask_dev.jsonl", "ask_check.jsonl", "ask_unseen.jsonl"):
            for line in lines_of(name)[:: 1 if FULL else 6]:
                answer = answer_in(await listen(assistant.stream(line["question"])))
                if line["covered"]:
                    covered.append(bool(files_cited(answer) & {line["file"], *line["also"]}))
                else:
                    refused.append(answer.refused)
    assert sum(covered) >= 0.8 * len(covered), (sum(covered), len(covered))
    assert sum(refused) >= 0.9 * len(refused), (sum(refused), len(refused))
