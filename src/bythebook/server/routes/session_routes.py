"""Conversations that are kept."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from bythebook.models.conversation import ConversationState, ConversationThread
from bythebook.models.values import UtcDatetime, Uuid4
from bythebook.server.auth import Chatter, Serving
from bythebook.server.caller import Caller
from bythebook.server.conversations import belongs_to, no_session
from bythebook.server.error_responses import keyed
from bythebook.server.examples import HISTORY, STATE, SUMMARY, answers
from bythebook.server.rendering import answer_html
from bythebook.server.service import Service
from bythebook.threads import Thread

router = APIRouter(prefix="/session", tags=["sessions"])

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
    "/{session_id}",
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
    "/{session_id}/history",
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
    "/{session_id}/summary",
    summary="What a session is about",
    response_model=SessionSummary,
    responses={**keyed(404), **answers(SUMMARY, "The summary.")},
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
    "/{session_id}",
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
