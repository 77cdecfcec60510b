"""Questions and their answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request, Response

from bythebook.agent.events import Failed
from bythebook.models.agent_messages import AgentQuestion, AgentRequest, AgentResponse
from bythebook.models.chat import ChatRequest, ChatResponse
from bythebook.models.conversation import Conversation
from bythebook.server.access import Chatter, Serving
from bythebook.server.conversations import Asked, Conversations
from bythebook.server.events import EVENT_SCHEMA, EVENTS, STREAM_EXAMPLE, Telling
from bythebook.server.examples import AGENT, CHAT, answers
from bythebook.server.logs import add_to_log_context
from bythebook.server.problems import keyed
from bythebook.server.sse import EventStream, while_connected

router = APIRouter(tags=["chat"])

# What nobody reads: the client has left.
CLIENT_LEFT = 499
SSE = {"text/event-stream": {"itemSchema": EVENT_SCHEMA, "example": STREAM_EXAMPLE}}
ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer, or a refusal.",
        "content": {"application/json": {"example": CHAT}, **SSE},
    }
}
ABOUT_EVENTS = "\n".join(
    f"- `{name}`: `{model.__name__}`. {(model.__doc__ or '').splitlines()[0].split(': ', 1)[-1]}"
    for name, model in EVENTS.items()
)


@router.post(
    "/chat/run",
    summary="Ask a question",
    response_model=ChatResponse,
    responses={**keyed(404), **ANSWERED},
)
async def run_chat(
    request: Request, service: Serving, caller: Chatter, question: ChatRequest
) -> Any:
    """Answers from the book, or says that the book does not say (`refused`).

    Every sentence of `response` is borne out by the passage that its marker `[n]` points to:
    `sources[n-1]` and `citations[n-1]`. Send the `session_id` of the response with the next
    question to go on. With `"stream": true` it answers as `POST /chat/stream` does.
    """
    asked = await _ask(request, service.conversations, caller, question)
    if question.stream:
        return await _stream(request, service, asked)
    event = await while_connected(request, service.conversations.last_event(asked))
    if event is None:
        return Response(status_code=CLIENT_LEFT)
    if isinstance(event, Failed):
        raise event.error
    return (await _telling(request, service, asked)).response(event)


@router.post(
    "/chat/stream",
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
    summary="Ask a single question",
    response_model=AgentResponse,
    responses={**keyed(404), **answers(AGENT, "The answer, or a refusal.")},
)
async def agent_chat(
    request: Request, service: Serving, caller: Chatter, question: AgentRequest
) -> Any:
    """A question by itself, without a session. `metadata.book_id` may name the book. The `id` of
    the response names the answer for `POST /feedback`."""
    wanted = question.metadata.get("book_id")
    book = await caller.book(service.library, wanted if isinstance(wanted, str) else None)
    settings = service.settings
    single = AgentQuestion(
        message=question.message,
        top_k=settings.top_k,
        similarity_threshold=settings.score_threshold,
    )
    asked = Asked(single, book.book_id, caller.id, is_new=True, history=Conversation())
    event = await while_connected(request, service.conversations.last_event(asked))
    if event is None:
        return Response(status_code=CLIENT_LEFT)
    if isinstance(event, Failed):
        raise event.error
    return AgentResponse.of(event.answer, question)


async def _ask(
    request: Request, conversations: Conversations, caller: Chatter, question: ChatRequest
) -> Asked:
    request.state.session_id = question.session_id
    add_to_log_context(session_id=question.session_id)
    return await conversations.check(caller, question)


async def _telling(request: Request, service: Serving, asked: Asked) -> Telling:
    return Telling(
        session_id=asked.request.session_id,
        request_id=request.state.request_id,
        html=asked.request.html,
        modules=await service.shelf.module_titles(asked.book_id),
    )


async def _stream(request: Request, service: Serving, asked: Asked) -> EventStream:
    telling = await _telling(request, service, asked)

    async def written() -> AsyncGenerator[bytes]:
        async with aclosing(service.conversations.stream(asked)) as events:
            async for event in events:
                yield telling.to_sse(event)

    return EventStream(written(), service.settings.heartbeat, {"X-Session-ID": telling.session_id})
