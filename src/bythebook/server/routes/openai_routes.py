"""Chat completions as OpenAI's clients ask for them: a book is a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bythebook.agent.events import Token
from bythebook.errors import BookNotFound, InputError
from bythebook.models.chat_messages import ChatRequest
from bythebook.models.chunk import BookInfo
from bythebook.server.auth import Chatter, Guest, Serving
from bythebook.server.conversations import ConversationQuestion
from bythebook.server.error_responses import CompletionProblem, keyed
from bythebook.server.examples import BOOK
from bythebook.server.openai_completion import (
    EXAMPLE,
    SUFFIX,
    ChatCompletion,
    CompletionWriter,
    TokensUsed,
    find_passages,
    render_passages,
)
from bythebook.server.openai_request import MAX_MODEL, CompletionRequest
from bythebook.server.routes.chat_routes import client_left
from bythebook.server.sse import EventStream, while_connected

router = APIRouter(prefix="/v1", tags=["openai"])

# The book that a caller means without naming it.
DEFAULT_MODEL = "bythebook"
OWNER = "bythebook"
MODEL: dict[str, Any] = {
    "id": BOOK,
    "object": "model",
    "created": 1794734275,
    "owned_by": OWNER,
    "name": "Physical AI and Humanoid Robotics",
}
STREAM_EXAMPLE = """\
data: {"id":"chatcmpl-…","object":"chat.completion.chunk",…,"choices":[{"index":0,"delta":{"role":"assistant","content":""},…}]}

data: {…,"choices":[{"index":0,"delta":{"content":"A node is a process that performs computation [1]."},…}]}

data: {…,"choices":[{"index":0,"delta":{"content":"\\n\\nSources:\\n- [1] Nodes – https://…"},…}]}

data: {…,"choices":[{"index":0,"delta":{"annotations":[…]},"finish_reason":"stop",…}],"bythebook":{…}}

data: [DONE]

"""  # noqa: E501
CHUNK = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer, or a refusal.",
        "content": {
            "application/json": {"example": EXAMPLE},
            "text/event-stream": {"itemSchema": CHUNK, "example": STREAM_EXAMPLE},
        },
    }
}


class BookModel(BaseModel):
    """A book as a model that can be chosen."""

    model_config = ConfigDict(json_schema_extra={"example": MODEL})

    id: str
    object: Literal["model"] = "model"
    created: int = Field(ge=0, description="When the book was last read, in seconds.")
    owned_by: str = OWNER
    name: str = Field(description="The book's title.")

    @classmethod
    def of(cls, book: BookInfo, model_id: str | None = None) -> Self:
        read = book.last_incremental_update or book.last_full_ingest
        created = int(read.timestamp()) if read else 0
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
    asked = _asked(service, caller, book, wanted)
    writer = CompletionWriter(model=book.book_id, wants_usage=wanted.wants_usage)
    if wanted.stream:
        return EventStream(_stream(service, asked, writer), service.settings.heartbeat, {})
    done = await while_connected(request, service.conversations.answer(asked))
    return client_left() if done is None else writer.whole(done)


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
    try:
        book = await _book(service, caller, DEFAULT_MODEL)
    except (BookNotFound, InputError):
        return BookModels(data=[*listed, *(one.raw() for one in listed)])
    if book.book_id != DEFAULT_MODEL:
        listed.insert(0, BookModel.of(book, DEFAULT_MODEL))
    listed += [one.raw() for one in listed]
    return BookModels(data=listed)


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


async def _wanted(service: Serving, caller: Chatter, model: str) -> tuple[BookInfo, bool]:
    """The book, and whether only its passages are wanted. A book's own id comes first."""
    known = {book.book_id for book in await service.library.books()}
    raw = model.endswith(SUFFIX) and model not in known
    return await _book(service, caller, model.removesuffix(SUFFIX) if raw else model), raw


async def _passages(service: Serving, book: BookInfo, wanted: CompletionRequest) -> Any:
    question = _question(wanted).message
    found = await find_passages(service.library, book, question, service.settings.top_k)
    service.metrics.searched()
    content, annotations, verdict = render_passages(found, book)
    writer = CompletionWriter(model=book.book_id + SUFFIX, wants_usage=wanted.wants_usage)
    usage = TokensUsed(prompt_tokens=0, total_tokens=0)
    if not wanted.stream:
        return writer.completion(content, annotations, verdict, usage)

    async def chunks() -> AsyncGenerator[bytes]:
        yield writer.opening()
        for chunk in writer.to_sse(Token(content)):
            yield chunk
        for chunk in writer.ending(annotations, verdict, usage):
            yield chunk

    return EventStream(chunks(), service.settings.heartbeat, {})


async def _book(service: Serving, caller: Chatter, model: str) -> BookInfo:
    known = {book.book_id for book in await service.library.books()}
    book_id = None if model == DEFAULT_MODEL and model not in known else model
    try:
        return await caller.book(service.library, book_id)
    except (BookNotFound, InputError) as problem:
        is_unknown = isinstance(problem, BookNotFound) and book_id is not None
        action = "`GET /v1/models` lists the books." if is_unknown else problem.action
        if isinstance(problem, InputError) and book_id is None:
            action = "Name one of them as `model`."
        raise type(problem)(problem.message, action=action, details={"field": "model"}) from problem


def _asked(
    service: Serving, caller: Chatter, book: BookInfo, wanted: CompletionRequest
) -> ConversationQuestion:
    settings = service.settings
    history = wanted.history(settings.history_turns, settings.refusal)
    return ConversationQuestion(
        _question(wanted), book.book_id, caller.id, is_new=True, history=history
    )


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
    yield writer.opening()
    async with aclosing(service.conversations.stream(asked)) as events:
        async for event in events:
            for chunk in writer.to_sse(event):
                yield chunk
