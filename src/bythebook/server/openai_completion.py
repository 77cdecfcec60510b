"""The shapes of OpenAI's chat completions: a request with its conversation, and a completion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from bythebook.models.answer import ABOUT_STATUS, Citation, Status
from bythebook.models.chat_messages import MAX_MESSAGE
from bythebook.models.conversation import Conversation, Turn
from bythebook.models.examples import example
from bythebook.models.passage import ConfidenceLevel

TITLE = "\n\nSources:\n"
BEFORE_ADDRESS = " – "
LINE = re.compile(rf"- \[\d+\] (.*?)(?:{BEFORE_ADDRESS}\S+)?$")


def sources_of(citations: Iterable[Citation]) -> str:
    """Titles and addresses, by the numbers that the markers have; nothing for a refusal."""
    lines = [_line(citation) for citation in citations]
    return TITLE + "\n".join(lines) if lines else ""


def without_sources(text: str) -> tuple[str, tuple[str, ...]]:
    """An answer that comes back as part of a conversation, and the titles of its sources."""
    answer, _, listed = text.rpartition(TITLE)
    found = [LINE.match(line) for line in listed.splitlines()]
    titles = tuple(line[1] for line in found if line)
    if not answer or len(titles) < len(found):  # a list of the answer's own
        return text, ()
    return answer, titles


def _line(citation: Citation) -> str:
    shown = f"{BEFORE_ADDRESS}{citation.url}" if citation.url else ""
    return f"- [{citation.number}] {citation.label}{shown}"


REQUEST_EXAMPLE: dict[str, Any] = {
    "model": "bythebook",
    "messages": [{"role": "user", "content": "What is a URDF?"}],
}
# Of an earlier message no more is read: a model is given all of them with every question.
MAX_EARLIER = 4000


class StrictModel(BaseModel):
    """What clients send: a number is no text."""

    model_config = ConfigDict(strict=True)


class TextPart(StrictModel):
    """A piece of a message; only text can be asked."""

    type: Literal["text"]
    text: str


class RefusalPart(StrictModel):
    """A piece of an assistant's message."""

    type: Literal["refusal"]
    refusal: str


Part = Annotated[TextPart | RefusalPart, Field(discriminator="type")]


class Message(StrictModel):
    """A message of the conversation. Only those of `user` and `assistant` are read."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content.strip()
        pieces = self.content or []
        texts = [piece.text if isinstance(piece, TextPart) else piece.refusal for piece in pieces]
        return "\n".join(texts).strip()


# A book's id, and what may stand behind it.
MAX_MODEL = 109


class StreamOptions(StrictModel):
    include_usage: bool | None = Field(
        default=None, description="Send a last chunk with the tokens used."
    )


class TextFormat(StrictModel):
    type: Literal["text"]


class CompletionRequest(StrictModel):
    """A conversation with a book. The last message of the user is the question, and earlier ones
    are its history; system messages are ignored, and so are fields that are not known here. Those
    that clients send out of habit must be of the right type, and change nothing."""

    model_config = ConfigDict(json_schema_extra={"example": REQUEST_EXAMPLE})

    model: str = Field(
        min_length=1,
        max_length=MAX_MODEL,
        description="Id of a book, or `bythebook`: the only book, or the configured one. With "
        "`-passages` behind it: the passages that fit, without an answer.",
    )
    messages: list[Message] = Field(
        min_length=1,
        description=f"At least one of the user; the last may have up to {MAX_MESSAGE} characters.",
    )
    stream: bool | None = Field(default=None, description="Answer as Server-Sent Events.")
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = Field(default=None, description="There is one answer.")
    response_format: TextFormat | None = Field(default=None, description="Answers are text.")
    temperature: float | None = Field(default=None, ge=0, le=2, description="Ignored.")
    top_p: float | None = Field(default=None, ge=0, le=1, description="Ignored.")
    max_tokens: int | None = Field(default=None, ge=1, description="Ignored.")
    max_completion_tokens: int | None = Field(default=None, ge=1, description="Ignored.")
    presence_penalty: float | None = Field(default=None, ge=-2, le=2, description="Ignored.")
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2, description="Ignored.")
    seed: int | None = Field(default=None, description="Ignored.")
    stop: str | list[str] | None = Field(default=None, description="Ignored.")
    user: str | None = Field(default=None, description="Ignored.")
    logprobs: bool | None = Field(default=None, description="Ignored.")
    top_logprobs: int | None = Field(default=None, description="Ignored.")
    logit_bias: dict[str, float] | None = Field(default=None, description="Ignored.")
    tools: list[dict[str, Any]] | None = Field(default=None, description="Ignored.")
    tool_choice: str | dict[str, Any] | None = Field(default=None, description="Ignored.")
    parallel_tool_calls: bool | None = Field(default=None, description="Ignored.")
    metadata: dict[str, Any] | None = Field(default=None, description="Ignored.")
    store: bool | None = Field(default=None, description="Ignored.")

    @property
    def wants_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def question(self) -> str | None:
        asked = [message.text for message in self.messages if message.role == "user"]
        return asked[-1] if asked else None

    def history(self, turns: int, refusal: str) -> Conversation:
        """The last turns before the question."""
        found = [*self._turns(refusal.rstrip("."))]
        return Conversation(turns=found[-turns:] if turns else [])

    def _turns(self, refusal: str) -> Iterator[Turn]:
        asked = [at for at, each in enumerate(self.messages) if each.role == "user"]
        for at, after in pairwise(asked):
            replies = [each.text for each in self.messages[at:after] if each.role == "assistant"]
            answer, sources = without_sources("\n\n".join(filter(None, replies)))
            if answer:
                yield Turn(
                    question=self.messages[at].text[:MAX_EARLIER],
                    answer=answer[:MAX_EARLIER],
                    sources=sources,
                    refused=answer.startswith(refusal),
                )


class UrlCitation(BaseModel):
    """`content[start_index:end_index]` is the marker `[n]`, counted in Unicode characters."""

    start_index: int = Field(ge=0)
    end_index: int = Field(ge=0)
    title: str
    url: str


class Annotation(BaseModel):
    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation

    @classmethod
    def at(cls, start: int, marker: str, title: str, url: str) -> Self:
        end = start + len(marker)
        return cls(url_citation=UrlCitation(start_index=start, end_index=end, title=title, url=url))


class AnswerMessage(BaseModel):
    """The answer with its markers, and below it the list of sources; a refusal has none."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: list[Annotation]


class AnswerChoice(BaseModel):
    index: Literal[0] = 0
    message: AnswerMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class TokensUsed(BaseModel):
    """What the language model used. Its share of the prompt is not kept: all counts as prompt."""

    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    total_tokens: int = Field(ge=0)


class Verdict(BaseModel):
    """What bythebook adds: other clients ignore it."""

    status: Status = Field(description=ABOUT_STATUS)
    refused: bool
    confidence_level: ConfidenceLevel
    notes: list[str]
    answer_id: str | None = Field(description="Id of the answer for `POST /feedback`.")


class ChatCompletion(BaseModel):
    """OpenAI's completion, with one choice."""

    model_config = ConfigDict(json_schema_extra=example("completion"))

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[AnswerChoice] = Field(min_length=1, max_length=1)
    usage: TokensUsed
    bythebook: Verdict
