"""Questions, their answers, what readers say of them, and the conversations that are kept."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from bythebook.database.tables import storable_json
from bythebook.errors import BookNotFound
from bythebook.models.asked_question import MAX_REASON, Rating
from bythebook.models.chat_messages import (
    AgentQuestion,
    AgentRequest,
    AgentResponse,
    ChatRequest,
    ChatResponse,
)
from bythebook.models.conversation import Conversation, ConversationState, ConversationThread
from bythebook.models.examples import AGENT, CHAT, HISTORY, PIECES, STATE, answers, example
from bythebook.models.values import UtcDatetime, Uuid4
from bythebook.server.auth import Chatter, Serving
from bythebook.server.caller import Caller
from bythebook.server.conversations import (
    ConversationQuestion,
    Conversations,
    belongs_to,
    no_session,
)
from bythebook.server.error_responses import keyed
from bythebook.server.logs import add_to_log_context
from bythebook.server.rendering import answer_html
from bythebook.server.service import Service
from bythebook.server.sse import (
    EVENT_SCHEMA,
    EVENTS,
    STREAM_EXAMPLE,
    EventSerializer,
    EventStream,
    while_connected,
)
from bythebook.threads import Thread

router = APIRouter()

SSE = {"text/event-stream": {"itemSchema": EVENT_SCHEMA, "example": STREAM_EXAMPLE}}
ANSWERED = answers(CHAT, "The answer, or a refusal.", **SSE)
ABOUT_EVENTS = "\n".join(
    f"- `{name}`: `{model.__name__}`. {(model.__doc__ or '').splitlines()[0].split(': ', 1)[-1]}"
    for name, model in EVENTS.items()
)


class Feedback(BaseModel):
    """Whether an answer was good, and why."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=example("feedback"))

    answer_id: Uuid4 = Field(description="The answer_id of a chat response.")
    rating: Rating
    reason: str | None = Field(default=None, max_length=MAX_REASON)


@router.post(
    "/chat/run",
    tags=["chat"],
    summary="Ask a question",
    response_model=ChatResponse,
    responses={**keyed(404), **ANSWERED},
)
async def run_chat(
    request: Request, service: Serving, caller: Chatter, question: ChatRequest
) -> Any:
    """Answers from the book, or says that the book has no answer (`refused`).

    Every sentence of `response` is supported by the passage that its marker `[n]` points to:
    `sources[n-1]` and `citations[n-1]`. Send the `session_id` of the response with the next
    question to continue. With `"stream": true` it answers as `POST /chat/stream` does.
    """
    asked = await _ask(request, service.conversations, caller, question)
    if question.stream:
        return await _stream(request, service, asked)
    done = await while_connected(request, service.conversations.answer(asked))
    return (
        client_left()
        if done is None
        else (await _serializer(request, service, asked)).response(done)
    )


@router.post(
    "/chat/stream",
    tags=["chat"],
    summary="Ask a question and watch the answer come",
    description="Server-Sent Events, each with a JSON object as its data:\n\n"
    f"{ABOUT_EVENTS}\n\n"
    "Every stream ends with exactly one `done` or `error`. Lines that begin with a colon are signs "
    "of life. Closing the connection stops the work. The header `X-Session-ID` names the session.",
    response_class=Response,
    responses={**keyed(404), 200: {"description": "The events.", "content": SSE}},
)
async def stream_chat(
    request: Request, service: Serving, caller: Chatter, question: ChatRequest
) -> Response:
    asked = await _ask(request, service.conversations, caller, question)
    return await _stream(request, service, asked)


@router.post(
    "/api/v1/agent/chat",
    tags=["chat"],
    summary="Ask a single question",
    response_model=AgentResponse,
    responses={**keyed(404), **answers(AGENT, "The answer, or a refusal.")},
)
async def agent_chat(
    request: Request, service: Serving, caller: Chatter, question: AgentRequest
) -> Any:
    """A question by itself, without a session. `metadata.book_id` may name the book; all of
    `metadata` is saved with the question and returned. The `id` of the response names the answer
    for `POST /feedback`."""
    book = await caller.book(service.library, question.metadata.book_id)
    metadata = storable_json(question.metadata.model_dump(mode="json", exclude_unset=True))
    single = AgentQuestion(message=question.message)
    asked = ConversationQuestion(
        single, book.book_id, caller.id, is_new=True, metadata=metadata, history=Conversation()
    )
    done = await while_connected(request, service.conversations.answer(asked))
    return client_left() if done is None else AgentResponse.of(done.answer, question, metadata)


@router.post(
    "/feedback",
    tags=["chat"],
    summary="Say whether an answer was good",
    status_code=204,
    response_class=Response,
    responses=keyed(404),
)
async def feedback(service: Serving, caller: Chatter, given: Feedback) -> Response:
    """If you rate again, the last rating counts. Only whoever asked can, with the same key."""
    reason = (given.reason or "").strip() or None
    if not await service.questions.rate(given.answer_id, caller.id, given.rating, reason):
        raise BookNotFound(
            f"There is no answer {given.answer_id}.",
            action="Send the answer_id of a chat response; old ones are forgotten.",
            details={"field": "answer_id"},
        )
    return Response(status_code=204)


def client_left() -> Response:
    """An answer that nobody reads."""
    return Response(status_code=499)


async def _ask(
    request: Request, conversations: Conversations, caller: Chatter, question: ChatRequest
) -> ConversationQuestion:
    request.state.session_id = question.session_id
    add_to_log_context(session_id=question.session_id)
    return await conversations.check(caller, question)


async def _serializer(
    request: Request, service: Serving, asked: ConversationQuestion
) -> EventSerializer:
    return EventSerializer(
        session_id=asked.request.session_id,
        request_id=request.state.request_id,
        html=asked.request.html,
        modules=await service.catalog_cache.module_titles(asked.book_id),
    )


async def _stream(request: Request, service: Serving, asked: ConversationQuestion) -> EventStream:
    serializer = await _serializer(request, service, asked)

    async def lines() -> AsyncGenerator[bytes]:
        async with aclosing(service.conversations.stream(asked)) as events:
            async for event in events:
                yield serializer.to_sse(event)

    return EventStream(lines(), service.settings.heartbeat, {"X-Session-ID": serializer.session_id})


SessionId = Annotated[Uuid4, Path(description="The session_id of a chat response.")]


class SessionSummary(BaseModel):
    """What a conversation is about; it has a summary from its fifth exchange on."""

    session_id: Uuid4
    topic_summary: str | None
    exchanges: int
    created_at: UtcDatetime
    updated_at: UtcDatetime
    book_id: str


@router.get(
    "/session/{session_id}",
    tags=["sessions"],
    summary="A session as messages",
    response_model=ConversationState,
    responses={**keyed(404), **answers(STATE, "The session.")},
)
async def state(service: Serving, caller: Chatter, session_id: SessionId) -> ConversationState:
    """The rules for the language model, then the last 50 messages, and the searches that
    were made for them. `bythebook chat --export` writes the same."""
    thread = await _own(service, caller, session_id)
    return await service.assistant.state_of(thread.conversation, thread.metadata["book_id"])


@router.get(
    "/session/{session_id}/history",
    tags=["sessions"],
    summary="The messages of a session",
    response_model=ConversationThread,
    responses={**keyed(404), **answers(HISTORY, "The session.")},
)
async def history(
    service: Serving,
    caller: Chatter,
    session_id: SessionId,
    html: Annotated[bool, Query(description="Answers as safe HTML as well.")] = False,
) -> ConversationThread:
    """The last 50 messages, oldest first; answers with their citations."""
    thread = await service.threads.view(session_id)
    if thread is None or not belongs_to(thread.metadata, caller):
        raise no_session(session_id)
    if html:
        thread.messages = [
            message
            if message.role == "user"
            else message.model_copy(
                update={"html": answer_html(message.content, message.citations)}
            )
            for message in thread.messages
        ]
    return thread


@router.get(
    "/session/{session_id}/summary",
    tags=["sessions"],
    summary="What a session is about",
    response_model=SessionSummary,
    responses={**keyed(404), **answers(PIECES["summary"], "The summary.")},
)
async def summary(service: Serving, caller: Chatter, session_id: SessionId) -> SessionSummary:
    thread = await _own(service, caller, session_id)
    conversation = thread.conversation
    return SessionSummary(
        session_id=session_id,
        topic_summary=conversation.topic_summary or None,
        exchanges=conversation.count,
        created_at=conversation.created_at,
        updated_at=conversation.updated_at,
        book_id=thread.metadata["book_id"],
    )


@router.delete(
    "/session/{session_id}",
    tags=["sessions"],
    summary="Delete a session",
    status_code=204,
    response_class=Response,
    responses=keyed(404),
)
async def delete(service: Serving, caller: Chatter, session_id: SessionId) -> Response:
    """Deletes all of it, including archived messages. This can't be undone."""
    await _own(service, caller, session_id)
    if not await service.threads.delete(session_id):
        raise no_session(session_id)
    return Response(status_code=204)


async def _own(service: Service, caller: Caller, session_id: str) -> Thread:
    thread = await service.threads.load(session_id)
    if thread is None or not belongs_to(thread.metadata, caller):
        raise no_session(session_id)
    return thread
