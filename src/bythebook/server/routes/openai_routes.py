"""Chat completions as OpenAI's clients ask for them: a book is a model."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bythebook.agent.events import Failed, Token
from bythebook.errors import BookNotFound, InputError
from bythebook.language.query_rewrite import searchable
from bythebook.models.answer import Answer
from bythebook.models.chat_messages import ChatRequest
from bythebook.models.chunk import BookInfo
from bythebook.models.examples import PIECES, answers, example
from bythebook.models.passage import Passage, label_of
from bythebook.models.search_messages import SearchQuery
from bythebook.models.values import HARDWARE_TIERS, new_id
from bythebook.retrieval.calibration import assess
from bythebook.server.auth import Chatter, Guest, Serving
from bythebook.server.caller import Caller
from bythebook.server.conversations import ConversationQuestion, SavedAnswer
from bythebook.server.error_responses import CompletionProblem, keyed
from bythebook.server.openai_completion import (
    MAX_MODEL,
    Annotation,
    AnswerChoice,
    AnswerMessage,
    ChatCompletion,
    CompletionRequest,
    TokensUsed,
    Verdict,
    sources_of,
)
from bythebook.server.routes.chat_routes import client_left
from bythebook.server.sse import EventStream, while_connected

router = APIRouter(prefix="/v1", tags=["openai"])

# The book that a caller means without naming it.
DEFAULT_MODEL = "bythebook"
# Behind a book's id, for its passages without an answer.
SUFFIX = "-passages"
OWNER = "bythebook"
STREAM_EXAMPLE = """\
data: {"id":"chatcmpl-…","object":"chat.completion.chunk",…,"choices":[{"index":0,"delta":{"role":"assistant","content":""},…}]}

data: {…,"choices":[{"index":0,"delta":{"content":"A node is a process that performs computation [1]."},…}]}

data: {…,"choices":[{"index":0,"delta":{"content":"\\n\\nSources:\\n- [1] Nodes – https://…"},…}]}

data: {…,"choices":[{"index":0,"delta":{"annotations":[…]},"finish_reason":"stop",…}],"bythebook":{…}}

data: [DONE]

"""  # noqa: E501
CHUNK = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
ANSWERED = answers(
    PIECES["completion"],
    "The answer, or a refusal.",
    **{"text/event-stream": {"itemSchema": CHUNK, "example": STREAM_EXAMPLE}},
)


class BookModel(BaseModel):
    """A book as a model that can be chosen."""

    model_config = ConfigDict(json_schema_extra=example("book_model"))

    id: str
    object: Literal["model"] = "model"
    created: int = Field(ge=0, description="When the book was last read, in seconds.")
    owned_by: str = OWNER
    name: str = Field(description="The book's title.")

    @classmethod
    def of(cls, book: BookInfo, model_id: str | None = None) -> Self:
        created = int(book.updated_at.timestamp()) if book.updated_at else 0
        return cls(id=model_id or book.book_id, created=created, name=book.title)

    def raw(self) -> Self:
        """The same for whoever wants passages and no answer."""
        changes = {"id": self.id + SUFFIX, "name": f"{self.name} (passages)"}
        return self.model_copy(update=changes)


class BookModels(BaseModel):
    object: Literal["list"] = "list"
    data: list[BookModel]


@router.post(
    "/chat/completions",
    summary="Ask a book as any chat client would",
    response_model=ChatCompletion,
    responses={**keyed(404, model=CompletionProblem), **ANSWERED},
)
async def chat_completions(
    request: Request, service: Serving, caller: Chatter, wanted: CompletionRequest
) -> Any:
    """The last message of the user is the question, earlier ones are its history; nothing of the
    conversation is kept. System messages are ignored, since the book decides what is said, and
    `temperature`, `tools` and the like change nothing. Each marker `[n]` is an annotation, and the
    text ends with the list of sources. A refusal is an ordinary message. With `"stream": true` it
    answers in chunks of verified sentences; the last has the annotations. A model with `-passages`
    behind its id gives the passages that fit instead of an answer."""
    book, raw = await _wanted(service, caller, wanted.model)
    if raw:
        return await _passages(service, book, wanted)
    history = wanted.history(service.settings.history_turns, service.settings.refusal)
    asked = ConversationQuestion(
        _question(wanted), book.book_id, caller.id, is_new=True, history=history
    )
    writer = CompletionWriter(book.book_id, wanted.wants_usage)
    if wanted.stream:
        return EventStream(_stream(service, asked, writer), service.settings.heartbeat, {})
    done = await while_connected(request, service.conversations.answer(asked))
    if done is None:
        return client_left()
    content = done.answer.text + sources_of(done.answer.citations)
    return writer.whole(content, _details_of(done))


@router.get(
    "/models",
    summary="The books as models",
    response_description="The caller's books, and `bythebook` where it is clear which that is.",
    responses=keyed(model=CompletionProblem),
)
async def list_models(service: Serving, caller: Guest) -> BookModels:
    """A book is a model; its id is the book's."""
    own = await caller.books(service.library)
    listed = [BookModel.of(book) for book in own]
    with suppress(BookNotFound, InputError):
        book, _ = await _wanted(service, caller, DEFAULT_MODEL)
        if book.book_id != DEFAULT_MODEL:
            listed.insert(0, BookModel.of(book, DEFAULT_MODEL))
    return BookModels(data=[*listed, *(one.raw() for one in listed)])


@router.get(
    "/models/{model}",
    summary="A book as a model",
    response_description="The book.",
    responses=keyed(404, model=CompletionProblem),
)
async def get_model(
    service: Serving,
    caller: Guest,
    model: Annotated[str, Path(min_length=1, max_length=MAX_MODEL, description="As in the list.")],
) -> BookModel:
    book, raw = await _wanted(service, caller, model)
    return (
        BookModel.of(book, model.removesuffix(SUFFIX)).raw() if raw else BookModel.of(book, model)
    )


async def _wanted(service: Serving, caller: Caller, model: str) -> tuple[BookInfo, bool]:
    """The book, and whether only its passages are wanted. A book's own id comes first."""
    known = {book.book_id for book in await service.library.books()}
    raw = model.endswith(SUFFIX) and model not in known
    name = model.removesuffix(SUFFIX) if raw else model
    book_id = None if name == DEFAULT_MODEL and name not in known else name
    try:
        return await caller.book(service.library, book_id), raw
    except (BookNotFound, InputError) as problem:
        action = problem.action
        if isinstance(problem, BookNotFound) and book_id is not None:
            action = "`GET /v1/models` lists the books."
        elif isinstance(problem, InputError) and book_id is None:
            action = "Name one of them as `model`."
        raise type(problem)(problem.message, action=action, details={"field": "model"}) from problem


async def _passages(service: Serving, book: BookInfo, wanted: CompletionRequest) -> Any:
    found = await _find_passages(service, book, _question(wanted).message)
    service.metrics.searched()
    content, details = _shown_passages(found, book)
    writer = CompletionWriter(book.book_id + SUFFIX, wanted.wants_usage)
    if not wanted.stream:
        return writer.whole(content, details)

    async def chunks() -> AsyncGenerator[bytes]:
        yield writer.chunk({"role": "assistant", "content": ""})
        yield writer.chunk({"content": content})
        for chunk in writer.ending(details):
            yield chunk

    return EventStream(chunks(), service.settings.heartbeat, {})


async def _find_passages(service: Serving, book: BookInfo, question: str) -> list[Passage]:
    """What `POST /search` finds, at any hardware tier, as chats look at the whole book."""
    try:
        query = SearchQuery(
            text=searchable(question, book.language),
            book_id=book.book_id,
            hardware_tier_filter=HARDWARE_TIERS[-1],
            limit=service.settings.top_k,
        )
    except ValidationError as problem:
        raise InputError(
            "The last message of the user has nothing to search for.",
            action="Send the question as a message with the role `user`.",
            details={"field": "messages"},
        ) from problem
    return list((await service.library.search(query)).passages)


def _shown_passages(passages: Sequence[Passage], book: BookInfo) -> tuple[str, CompletionDetails]:
    """Each passage below its number, place, address and score; the numbers are annotated."""
    text, annotations = "", []
    for number, passage in enumerate(passages, 1):
        place, url = label_of(passage.metadata), passage.metadata.url
        text += "\n\n---\n\n" if text else ""
        annotations.append(Annotation.at(len(text), f"[{number}]", place, url))
        text += f"[{number}] {place} – {url} (score {passage.score:.2f})\n\n{passage.text}"
    verdict = Verdict(
        refused=not passages,
        status="success" if passages else "fallback",
        confidence_level=assess(passages).confidence_level,
        notes=["These are passages as the book has them; no answer was written."]
        if passages
        else [],
        answer_id=None,
    )
    text = text or f"No passage of {book.title} fits this question."
    return text, CompletionDetails(annotations, verdict, tokens=0)


def _question(wanted: CompletionRequest) -> ChatRequest:
    try:
        return ChatRequest(message=wanted.question or "")
    except ValidationError as problem:
        reason = problem.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(
            f"The last message of the user is not usable: {reason[:1].lower()}{reason[1:]}.",
            action="Send the question as a message with the role `user`.",
            details={"field": "messages"},
        ) from problem


async def _stream(
    service: Serving, asked: ConversationQuestion, writer: CompletionWriter
) -> AsyncGenerator[bytes]:
    yield writer.chunk({"role": "assistant", "content": ""})
    async with aclosing(service.conversations.stream(asked)) as events:
        async for event in events:
            match event:
                case Token(text):
                    yield writer.chunk({"content": text})
                case SavedAnswer(answer):
                    if sources := sources_of(answer.citations):
                        yield writer.chunk({"content": sources})
                    for chunk in writer.ending(_details_of(event)):
                        yield chunk
                case Failed(error):
                    yield _sse(CompletionProblem.of(error, error.http_status).model_dump())


@dataclass(frozen=True)
class CompletionDetails:
    """What a completion has besides its text."""

    annotations: list[Annotation]
    verdict: Verdict
    tokens: int

    @property
    def usage(self) -> TokensUsed:
        return TokensUsed(prompt_tokens=self.tokens, total_tokens=self.tokens)


def _details_of(saved: SavedAnswer) -> CompletionDetails:
    answer = saved.answer
    verdict = Verdict(
        status=answer.status,
        refused=answer.refused,
        confidence_level=answer.confidence.confidence_level,
        notes=list(answer.notes),
        answer_id=saved.answer_id,
    )
    return CompletionDetails(_annotations_of(answer), verdict, answer.tokens_used)


def _annotations_of(answer: Answer) -> list[Annotation]:
    """One for each marker, in the order of the text."""
    cited = {citation.number: citation for citation in answer.citations}
    found: list[Annotation] = []
    for sentence in answer.sentences:
        for number in sentence.citations:
            marker = f"[{number}]"
            # Markers stand at the end of what they bear; before that the number may be code.
            at = answer.text.rindex(marker, sentence.start, sentence.end)
            found.append(Annotation.at(at, marker, cited[number].label, cited[number].url))
    return found


@dataclass
class CompletionWriter:
    """Writes one completion, whole or in chunks."""

    model: str
    wants_usage: bool
    id: str = field(default_factory=lambda: f"chatcmpl-{new_id()}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, content: str, details: CompletionDetails) -> ChatCompletion:
        message = AnswerMessage(content=content, annotations=details.annotations)
        return ChatCompletion(
            id=self.id,
            created=self.created,
            model=self.model,
            choices=[AnswerChoice(message=message)],
            usage=details.usage,
            bythebook=details.verdict,
        )

    def ending(self, details: CompletionDetails) -> Iterator[bytes]:
        last = {"annotations": [each.model_dump() for each in details.annotations]}
        yield self.chunk(last, "stop", bythebook=details.verdict.model_dump())
        if self.wants_usage:
            yield self._sse([], usage=details.usage.model_dump())
        yield b"data: [DONE]\n\n"

    def chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if self.wants_usage else {}
        return self._sse([choice], **usage, **more)

    def _sse(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        fields = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            **more,
        }
        return _sse(fields)


def _sse(fields: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(fields, ensure_ascii=False)}\n\n".encode()
