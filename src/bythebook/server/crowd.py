"""No more requests at once than the service can work on."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from bythebook.errors import Overloaded
from bythebook.server.problems import answer_problem

# An operator must be able to look at a service that is full, and a page must be able to say so.
ALWAYS_LET_IN = frozenset({"/health", "/metrics", "/", "/admin", "/widget.js"})
FILES = "/web/"


class CrowdLimit:
    """Beyond the limit a request is asked to come back, at once and without any work."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app = app
        self.most = most
        self.inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_let_in(scope["path"]):
            await self.app(scope, receive, send)
            return
        if self.inside >= self.most:
            problem = Overloaded(
                f"The service is working on {self.most} requests already.",
                action="Try again in a moment.",
            )
            response = answer_problem(problem, scope["state"]["request_id"])
            await response(scope, receive, send)
            return
        self.inside += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.inside -= 1


def _is_let_in(path: str) -> bool:
    return path in ALWAYS_LET_IN or path.startswith(FILES)
