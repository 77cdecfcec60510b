"""Chat completions as OpenAI's clients ask for them: a book is a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bythebook.agent.events import Failed
from bythebook.errors import BookNotFound, InputError
from bythebook.models.book import BookInfo
from bythebook.models.chat import ChatRequest
from bythebook.server.access import Chatter, Guest, Serving
from bythebook.server.completions.completion import EXAMPLE, ChatCompletion, Completing
from bythebook.server.completions.problem import CompletionProblem
from bythebook.server.completions.request import CompletionRequest
from bythebook.server.conversations import Asked
from bythebook.server.examples import BOOK
from bythebook.server.problems import keyed
from bythebook.server.routes.chat import CLIENT_LEFT
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
    answers in chunks of verified sentences; the last has the annotations."""
    book = await _book(service, caller, wanted.model)
    asked = _asked(service, caller, book, wanted)
    completing = Completing(model=book.book_id, wants_usage=wanted.wants_usage)
    if wanted.stream:
        return EventStream(_chunks(service, asked, completing), service.settings.heartbeat, {})
    event = await while_connected(request, service.conversations.last_event(asked))
    if event is None:
        return Response(status_code=CLIENT_LEFT)
    if isinstance(event, Failed):
        raise event.error
    return completing.whole(event)


@router.get(
    "/models",
    summary="The books as models",
    response_description="The caller's books, and `bythebook` where it is clear which that is.",
    responses=keyed(model=CompletionProblem),
)
async def list_models(service: Serving, caller: Guest) -> BookModels:
    """A book is a model; its id is the book's."""
    own = [book for book in await service.library.books() if caller.may_read(book.book_id)]
    listed = [BookModel.of(book) for book in own]
    try:
        book = await _book(service, caller, DEFAULT_MODEL)
    except (BookNotFound, InputError):
        return BookModels(data=listed)
    if book.book_id != DEFAULT_MODEL:
        listed.insert(0, BookModel.of(book, DEFAULT_MODEL))
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
    model: Annotated[str, Path(min_length=1, max_length=100, description="As in the list.")],
) -> BookModel:
    return BookModel.of(await _book(service, caller, model), model)


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


def _asked(service: Serving, caller: Chatter, book: BookInfo, wanted: CompletionRequest) -> Asked:
    settings = service.settings
    try:
        question = ChatRequest(
            message=wanted.question or "",
            top_k=settings.top_k,
            similarity_threshold=settings.score_threshold,
        )
    except ValidationError as problem:
        reason = problem.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(
            f"The last message of the user is not usable: {reason[:1].lower()}{reason[1:]}.",
            action="Send the question as a message with the role `user`.",
            details={"field": "messages"},
        ) from problem
    history = wanted.history(settings.history_turns, settings.refusal)
    return Asked(question, book.book_id, caller.id, is_new=True, history=history)


async def _chunks(service: Serving, asked: Asked, completing: Completing) -> AsyncGenerator[bytes]:
    yield completing.opening()
    async with aclosing(service.conversations.stream(asked)) as events:
        async for event in events:
            for chunk in completing.to_sse(event):
                yield chunk
