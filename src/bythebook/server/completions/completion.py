"""An answer as a chat completion, whole or in chunks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bythebook.agent.events import Done, Event, Failed, Token
from bythebook.models.answer import Answer
from bythebook.models.confidence import ConfidenceLevel
from bythebook.models.identity import new_id
from bythebook.server.completions.problem import CompletionProblem
from bythebook.server.completions.sources import sources_of
from bythebook.server.examples import ANSWER, BOOK, PAGE
from bythebook.server.kept import Kept

END = b"data: [DONE]\n\n"
_TITLE, _URL = "URDF and Xacro › Links and joints", f"{PAGE}#links-and-joints"
_MARKER = ANSWER.index("[1]")
EXAMPLE: dict[str, Any] = {
    "id": "chatcmpl-3c6a1c5e-55a1-4a0c-9a44-9b62e1fd9f2b",
    "object": "chat.completion",
    "created": 1794734275,
    "model": BOOK,
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": f"{ANSWER}\n\nSources:\n- [1] {_TITLE} – {_URL}",
                "refusal": None,
                "annotations": [
                    {
                        "type": "url_citation",
                        "url_citation": {
                            "start_index": _MARKER,
                            "end_index": _MARKER + len("[1]"),
                            "title": _TITLE,
                            "url": _URL,
                        },
                    }
                ],
            },
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    "bythebook": {
        "refused": False,
        "confidence_level": "high",
        "notes": ["Quoted from the book by the built-in answerer; no language model was used."],
        "answer_id": "0e7af4fc-402a-4ff6-b393-8d5ff9503a3a",
    },
}


class UrlCitation(BaseModel):
    """`content[start_index:end_index]` is the marker `[n]`, counted in Unicode characters."""

    start_index: int = Field(ge=0)
    end_index: int = Field(ge=0)
    title: str
    url: str


class Annotation(BaseModel):
    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


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

    @classmethod
    def of(cls, answer: Answer) -> TokensUsed:
        return cls(prompt_tokens=answer.tokens_used, total_tokens=answer.tokens_used)


class Verdict(BaseModel):
    """What bythebook adds: clients that don't know it pass it by."""

    refused: bool
    confidence_level: ConfidenceLevel
    notes: list[str]
    answer_id: str | None = Field(description="Names the answer for `POST /feedback`.")

    @classmethod
    def of(cls, done: Done) -> Verdict:
        answer = done.answer
        return cls(
            refused=answer.refused,
            confidence_level=answer.confidence.confidence_level,
            notes=list(answer.notes),
            answer_id=done.answer_id if isinstance(done, Kept) else None,
        )


class ChatCompletion(BaseModel):
    """OpenAI's completion, with one choice."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[AnswerChoice] = Field(min_length=1, max_length=1)
    usage: TokensUsed
    bythebook: Verdict


def annotations_of(answer: Answer) -> list[Annotation]:
    """One for each marker, in the order of the text."""
    cited = {citation.number: citation for citation in answer.citations}
    found: list[Annotation] = []
    for sentence in answer.sentences:
        for number in sentence.citations:
            marker = f"[{number}]"
            # Markers stand at the end of what they bear; before that the number may be code.
            at = answer.text.rindex(marker, sentence.start, sentence.end)
            link = UrlCitation(
                start_index=at,
                end_index=at + len(marker),
                title=cited[number].label,
                url=cited[number].url,
            )
            found.append(Annotation(url_citation=link))
    return found


@dataclass
class Completing:
    """What one client is told of one answer."""

    model: str
    wants_usage: bool
    id: str = field(default_factory=lambda: f"chatcmpl-{new_id()}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, done: Done) -> ChatCompletion:
        answer = done.answer
        message = AnswerMessage(
            content=answer.text + sources_of(answer.citations), annotations=annotations_of(answer)
        )
        return ChatCompletion(
            id=self.id,
            created=self.created,
            model=self.model,
            choices=[AnswerChoice(message=message)],
            usage=TokensUsed.of(answer),
            bythebook=Verdict.of(done),
        )

    def opening(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def to_sse(self, event: Event) -> Iterator[bytes]:
        match event:
            case Token(text):
                yield self._chunk({"content": text})
            case Done():
                yield from self._ending(event)
            case Failed(error):
                yield _sse(CompletionProblem.of(error, error.http_status).model_dump())

    def _ending(self, done: Done) -> Iterator[bytes]:
        answer = done.answer
        if sources := sources_of(answer.citations):
            yield self._chunk({"content": sources})
        last = {"annotations": [each.model_dump() for each in annotations_of(answer)]}
        yield self._chunk(last, "stop", bythebook=Verdict.of(done).model_dump())
        if self.wants_usage:
            yield _sse(self._fields([], usage=TokensUsed.of(answer).model_dump()))
        yield END

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if self.wants_usage else {}
        return _sse(self._fields([choice], **usage, **more))

    def _fields(self, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            **more,
        }


def _sse(fields: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(fields, ensure_ascii=False)}\n\n".encode()
