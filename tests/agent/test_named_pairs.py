"""True and false sentences that were judged wrongly once, as a model writes them in an answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.conftest import assistant_of
from booktext import WriteBook
from bythebook.agent.assistant import Assistant
from standins.llm_server import LlmServer, says

PAIRS = Path(__file__).parent.parent / "data" / "support_pairs.jsonl"
# What is asked about a passage, by how the passage begins.
QUESTIONS = {
    "After a long debate": "What did the committee do with the proposal?",
    "Aspirin treats": "What does aspirin treat?",
    "The server listens": "Which ports does the server listen on?",
    "Deleting a project": "Can I undo deleting a project?",
    "At sea level": "At what temperature does water boil at sea level?",
    "The request times out": "After how long does the request time out?",
    "| Publisher offers": "Is a best effort publisher connected to a reliable subscription?",
    "Tell users": "When does maintenance start?",
    "Version 5": "When was version 5 released?",
    "If the database": "What does the error say if the database is empty?",
    "Every night": "How long does the job run every night?",
    "Logs are kept": "For how long are logs kept?",
    "The cart drives": "At what speed does the cart drive?",
    "The bandwidth": "What is the bandwidth of the link?",
}

pytestmark = pytest.mark.usefixtures("with_reader")


def pairs() -> dict[str, list[dict[str, Any]]]:
    """By passage; those that the verifier alone does not tell apart are left to its own test."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in PAIRS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["passage"].startswith(tuple(QUESTIONS)) and not row.get("not_seen"):
            found.setdefault(row["passage"], []).append(row)
    return found


def question_about(passage: str) -> str:
    return next(asked for begins, asked in QUESTIONS.items() if passage.startswith(begins))


@pytest.fixture
async def assistant(home: Path, write_book: WriteBook, llm: LlmServer) -> AsyncIterator[Assistant]:
    """Over a book with a page for each passage."""
    pages = {f"{number:02}.md": f"{passage}\n" for number, passage in enumerate(pairs())}
    book = write_book({"bythebook.toml": '[book]\nid = "pairs"\ntitle = "Facts"\n', **pages})
    how: dict[str, Any] = {"openai_base_url": llm.base_url, "repair": True}
    async with assistant_of(home, **how) as opened:
        await opened.library.ingest(book)
        yield opened


def replies(llm: LlmServer, answer: str, second_thought: str) -> None:
    """What it says when it is given passages, and when it is given back what fails."""
    llm.always(lambda body: says(answer if "tools" in body else f"1: {second_thought}"))


async def test_an_answer_shows_the_true_ones_only(assistant: Assistant, llm: LlmServer) -> None:
    wrong = []
    for passage, rows in pairs().items():
        for row in rows:
            asked = len(llm.requests)
            replies(llm, f"{row['claim']} [1]", "-")
            answer = await assistant.ask(question_about(passage))
            shown = row["claim"].rstrip(".") in answer.text
            # A true one is one request; a false one is given back once.
            if (shown, len(llm.requests) - asked) != (row["supported"], 2 - row["supported"]):
                wrong.append((row["claim"], answer.text))
    assert not wrong


async def test_a_false_one_is_mended_into_the_true_one(
    assistant: Assistant, llm: LlmServer
) -> None:
    unmended = []
    for passage, rows in pairs().items():
        # What is restated is one line.
        true = [row["claim"] for row in rows if row["supported"] and "\n" not in row["claim"]]
        false = [row["claim"] for row in rows if not row["supported"]]
        for said, meant in zip(false, true, strict=False):
            replies(llm, f"{said} [1]", f"{meant} [1]")
            answer = await assistant.ask(question_about(passage))
            if meant.rstrip(".") not in answer.text or answer.removed:
                unmended.append((said, meant, answer.text))
    assert not unmended
