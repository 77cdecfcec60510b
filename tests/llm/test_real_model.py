"""Whatever a real language model writes, only what is by the book reaches the reader.

Nothing is asked of the model here: a small one may search badly, cite wrongly and invent. Checked
is what can be checked without judgement: every sentence is cited, every citation was retrieved, no
number is new. Whether a sentence says what its passage says, a person reads at the end of the run.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr

from bythebook.agent.assistant import Assistant
from bythebook.agent.events import Done, Terminal, Token
from bythebook.agent.prompts import LOW_CONFIDENCE
from bythebook.grounding.verifier import is_connective
from bythebook.library import Library, sample_book
from bythebook.models.answer import Answer, Sentence
from bythebook.models.conversation import Conversation
from bythebook.settings import Settings
from llm.real_server import RealModel

pytestmark = pytest.mark.llm

QUESTIONS = Path(__file__).parent.parent / "data" / "sample_questions.jsonl"
# Every third question of the sample book, and questions that it does not answer: two far from its
# topics, three near to them.
COVERED = [json.loads(line)["question"] for line in QUESTIONS.read_text().splitlines()][::3][:10]
UNCOVERED = [
    "Who won the football world cup in 1990?",
    "How long do I have to boil an egg?",
    "Which company sells the cheapest lidar, and for how much?",
    "How do I write a ROS 2 node in Rust?",
    "What was the first robot that NASA landed on Mars?",
]
MARKER = re.compile(r"\[(\d+)\]")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Seen:
    answer: Answer
    seconds: float


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book is read once; after that there is nothing to do."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
async def assistant(real_model: RealModel, shared_home: Path) -> AsyncIterator[Assistant]:
    settings = Settings(
        home=shared_home,
        openai_base_url=real_model.url,
        openai_model=real_model.name,
        openai_api_key=SecretStr(real_model.key),
        # A model on a small machine reads a hundred tokens a second.
        first_token_timeout=400,
        completion_timeout=400,
        turn_timeout=500,
        model_down="error",
        openai_max_tokens=400,
    )
    async with await Library.open(settings) as library, Assistant(library) as opened:
        await library.ingest(sample_book())
        yield opened


async def ask(
    assistant: Assistant, question: str, conversation: Conversation | None = None
) -> Seen:
    """The answer, from a stream that ended as it must."""
    started = time.monotonic()
    events = [event async for event in assistant.stream(question, conversation)]
    terminal = [event for event in events if isinstance(event, Terminal)]
    assert len(terminal) == 1
    assert events[-1] is terminal[0]
    assert isinstance(terminal[0], Done), terminal[0]
    answer = terminal[0].answer
    assert "".join(event.text for event in events if isinstance(event, Token)) == answer.text
    return Seen(answer, time.monotonic() - started)


def check(answer: Answer, refusal: str) -> None:
    if answer.refused:
        assert not answer.citations
        assert not answer.sentences
        assert answer.text.startswith(refusal.rstrip("."))
        return
    retrieved = {passage.id for passage in answer.passages}
    assert [citation.number for citation in answer.citations] == list(
        range(1, len(answer.citations) + 1)
    )
    for citation in answer.citations:
        assert citation.passage.id in retrieved
        assert citation.quote
        assert 0 <= citation.start < citation.end <= len(citation.passage.text)
    assert any(sentence.citations for sentence in answer.sentences)
    for sentence in answer.sentences:
        check_sentence(answer, sentence)
    check_nothing_else(answer)


def check_sentence(answer: Answer, sentence: Sentence) -> None:
    shown = answer.text[sentence.start : sentence.end]
    marked = {int(number) for number in MARKER.findall(shown)}
    said = MARKER.sub("", shown).strip()
    assert set(sentence.citations) <= marked, shown
    if not sentence.citations:
        assert is_connective(said) or said.endswith(":"), shown
        return
    cited = [answer.citations[number - 1].passage for number in sentence.citations]
    bearing = " ".join(
        [" ".join(passage.metadata.heading_path) + " " + passage.text for passage in cited]
        + [answer.question]
    )
    known = set(NUMBER.findall(bearing))
    numbers = set(NUMBER.findall(re.sub(r"^\s*\d+[.)]\s", "", said)))
    assert numbers <= known, (shown, numbers - known)


def check_nothing_else(answer: Answer) -> None:
    """All of the text is one of its sentences, or bythebook's own last word."""
    rest = answer.text
    for sentence in reversed(answer.sentences):
        rest = rest[: sentence.start] + rest[sentence.end :]
    assert rest.strip() in ("", LOW_CONFIDENCE), rest


def row(kind: str, seen: Seen) -> tuple[str, ...]:
    answer = seen.answer
    return (
        kind,
        "refused" if answer.refused else "answered",
        str(len(answer.sentences)),
        str(answer.removed),
        str(len(answer.tool_calls)),
        f"{seen.seconds:.0f}",
        str(answer.tokens_used),
        answer.question[:60],
    )


HEAD = ("kind", "outcome", "shown", "removed", "searches", "s", "tokens", "question")


Note = Callable[[str, Seen], None]


@pytest.fixture
def note(table: list[tuple[str, ...]], shown: list[str]) -> Note:
    def keep(kind: str, seen: Seen) -> None:
        if not table:
            table.append(HEAD)
        table.append(row(kind, seen))
        shown.append(f"{kind}: {seen.answer.question}\n  {seen.answer.text!r}")

    return keep


@pytest.mark.parametrize("question", COVERED)
async def test_a_covered_question(assistant: Assistant, note: Note, question: str) -> None:
    seen = await ask(assistant, question)
    note("covered", seen)
    check(seen.answer, assistant.config.refusal)


@pytest.mark.parametrize("question", UNCOVERED)
async def test_an_uncovered_question(assistant: Assistant, note: Note, question: str) -> None:
    seen = await ask(assistant, question)
    note("uncovered", seen)
    check(seen.answer, assistant.config.refusal)


async def test_a_follow_up(assistant: Assistant, note: Note) -> None:
    conversation = Conversation()
    for question in ("What is a node in ROS 2?", "How do they find each other?"):
        seen = await ask(assistant, question, conversation)
        note("follow-up", seen)
        check(seen.answer, assistant.config.refusal)
