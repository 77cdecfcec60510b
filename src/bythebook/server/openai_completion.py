"""Answers, or passages alone, in the form of OpenAI's chat completions."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bythebook.agent.events import Done, Event, Failed, Token
from bythebook.errors import InputError
from bythebook.language.query_rewrite import searchable
from bythebook.library import Library
from bythebook.models.answer import ABOUT_STATUS, Answer, Citation, Status
from bythebook.models.chunk import BookInfo
from bythebook.models.passage import ConfidenceLevel, Passage, label_of
from bythebook.models.search_messages import SearchQuery
from bythebook.models.values import HARDWARE_TIERS, new_id
from bythebook.retrieval.calibration import assess
from bythebook.server.conversations import SavedAnswer
from bythebook.server.error_responses import CompletionProblem
from bythebook.server.examples import ANSWER, BOOK, PAGE

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
        "status": "success",
        "refused": False,
        "confidence_level": "medium",
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
    """What bythebook adds: other clients ignore it."""

    status: Status = Field(description=ABOUT_STATUS)
    refused: bool
    confidence_level: ConfidenceLevel
    notes: list[str]
    answer_id: str | None = Field(description="Id of the answer for `POST /feedback`.")

    @classmethod
    def of(cls, done: Done) -> Verdict:
        answer = done.answer
        return cls(
            status=answer.status,
            refused=answer.refused,
            confidence_level=answer.confidence.confidence_level,
            notes=list(answer.notes),
            answer_id=done.answer_id if isinstance(done, SavedAnswer) else None,
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
class CompletionWriter:
    """Writes one completion, whole or in chunks."""

    model: str
    wants_usage: bool
    id: str = field(default_factory=lambda: f"chatcmpl-{new_id()}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, done: Done) -> ChatCompletion:
        answer = done.answer
        content = answer.text + sources_of(answer.citations)
        return self.completion(
            content, annotations_of(answer), Verdict.of(done), TokensUsed.of(answer)
        )

    def completion(
        self, content: str, annotations: list[Annotation], verdict: Verdict, usage: TokensUsed
    ) -> ChatCompletion:
        message = AnswerMessage(content=content, annotations=annotations)
        return ChatCompletion(
            id=self.id,
            created=self.created,
            model=self.model,
            choices=[AnswerChoice(message=message)],
            usage=usage,
            bythebook=verdict,
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
        yield from self.ending(annotations_of(answer), Verdict.of(done), TokensUsed.of(answer))

    def ending(
        self, annotations: list[Annotation], verdict: Verdict, usage: TokensUsed
    ) -> Iterator[bytes]:
        last = {"annotations": [each.model_dump() for each in annotations]}
        yield self._chunk(last, "stop", bythebook=verdict.model_dump())
        if self.wants_usage:
            yield _sse(self._fields([], usage=usage.model_dump()))
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


# Behind a book's model id.
SUFFIX = "-passages"
NOTHING = "No passage of {book} fits this question."
NOTE = "These are passages as the book has them; no answer was written."
BETWEEN = "\n\n---\n\n"


async def find_passages(
    library: Library, book: BookInfo, question: str, most: int
) -> list[Passage]:
    """What `POST /search` finds, at any hardware tier, as chats look at the whole book."""
    try:
        query = SearchQuery(
            text=searchable(question, book.language),
            book_id=book.book_id,
            hardware_tier_filter=HARDWARE_TIERS[-1],
            limit=most,
        )
    except ValidationError as problem:
        raise InputError(
            "The last message of the user has nothing to search for.",
            action="Send the question as a message with the role `user`.",
            details={"field": "messages"},
        ) from problem
    return list((await library.search(query)).passages)


def render_passages(
    passages: Sequence[Passage], book: BookInfo
) -> tuple[str, list[Annotation], Verdict]:
    """Each passage below its number, place, address and score; the numbers are annotated."""
    text, annotations = "", []
    for number, passage in enumerate(passages, 1):
        place, marker = label_of(passage.metadata), f"[{number}]"
        text += BETWEEN if text else ""
        link = UrlCitation(
            start_index=len(text),
            end_index=len(text) + len(marker),
            title=place,
            url=passage.metadata.url,
        )
        annotations.append(Annotation(url_citation=link))
        text += f"{marker} {place} – {passage.metadata.url} (score {passage.score:.2f})\n\n"
        text += passage.text
    confidence = assess(passages)
    verdict = Verdict(
        refused=not passages,
        status="success" if passages else "fallback",
        confidence_level=confidence.confidence_level,
        notes=[NOTE] if passages else [],
        answer_id=None,
    )
    return text or NOTHING.format(book=book.title), annotations, verdict
