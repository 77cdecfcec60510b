"""MCP over HTTP: the same tools and resources, with the caller's key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.types import Receive, Scope, Send

from bythebook.library import Library
from bythebook.models.answer import Answer
from bythebook.models.chat_messages import ChatRequest
from bythebook.models.chunk import BookInfo
from bythebook.models.conversation import Conversation
from bythebook.models.key import Scope as KeyScope
from bythebook.server.auth import Guest, Serving
from bythebook.server.caller import Caller
from bythebook.server.conversations import ConversationQuestion
from bythebook.server.service import Service

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


router = APIRouter(tags=["mcp"])


@dataclass(frozen=True)
class CallerBackend:
    """What the key of a request is good for."""

    service: Service
    caller: Caller

    @property
    def default_book(self) -> str | None:
        return self.service.settings.book_id

    def may(self, *scopes: KeyScope) -> bool:
        key = self.caller.key
        return key is None or any(key.allows(scope) for scope in scopes)

    def searched(self) -> None:
        self.service.metrics.searched()

    @asynccontextmanager
    async def library(self) -> AsyncIterator[Library]:
        yield self.service.library

    async def books(self) -> list[BookInfo]:
        return await self.caller.books(self.service.library)

    async def ask(self, question: str, book: BookInfo) -> tuple[Answer, str | None]:
        request = ChatRequest(message=question)
        asked = ConversationQuestion(
            request, book.book_id, self.caller.id, is_new=True, history=Conversation()
        )
        done = await self.service.conversations.answer(asked)
        return done.answer, done.answer_id


class McpResponse(Response):
    """Hands a request to the MCP server, which answers it."""

    def __init__(self, manager: StreamableHTTPSessionManager, backend: CallerBackend) -> None:
        super().__init__()
        self.manager = manager
        self.backend = backend

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["backend"] = self.backend
        await self.manager.handle_request(scope, receive, send)


# The protocol describes itself, so that it is no part of the OpenAPI document.
@router.post("/mcp", include_in_schema=False)
async def mcp(request: Request, service: Serving, caller: Guest) -> Response:
    return McpResponse(request.app.state.mcp, CallerBackend(service, caller))


@asynccontextmanager
async def running_mcp(app: FastAPI) -> AsyncIterator[None]:
    """Within, the app answers at `/mcp`. Every request stands alone: several services may share
    the clients, and none has to remember them."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from bythebook.mcp.mcp_server import make_server

    manager = StreamableHTTPSessionManager(make_server(_backend_of), stateless=True)
    async with manager.run():
        app.state.mcp = manager
        yield


def _backend_of(context: Any) -> CallerBackend:
    backend: CallerBackend = context.request.scope["state"]["backend"]
    return backend
