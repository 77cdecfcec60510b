"""Limits on how many requests and connections the service handles at once."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from bythebook.errors import Overloaded
from bythebook.server.error_responses import answer_problem

logger = logging.getLogger(__name__)

# Files that the service opens itself: index, databases, books, requests to other services.
OWN_FILES = 500


def connection_limit(connections: int) -> int:
    """The number of connections, or fewer if the system allows fewer open files. Raises the limit
    of the system for them as far as it lets us."""
    try:
        import resource
    except ImportError:  # Windows, where it is not files that connections take
        return connections

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OWN_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if most > soft:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        except (ValueError, OSError):  # macOS has another limit below its "unlimited"
            most = soft
    room = min(connections, max(most - OWN_FILES, most // 2))
    if room < connections:
        logger.warning(
            "The system lets the service open %s files, so it takes %s connections at once and "
            "not %s; raise its limit (ulimit -n) for more",
            most,
            room,
            connections,
        )
    return room


# An operator must be able to look at a full service, and the page must be able to say so.
EXEMPT = frozenset({"/health", "/metrics", "/", "/admin", "/widget.js"})
FILES = "/web/"


@dataclass
class RequestSlots:
    """How many requests may be handled at once, and how many are."""

    max_requests: int
    used: int = 0


class ConcurrencyLimit:
    """Refuses requests while all slots are used. Where it `counts`, a request takes a slot: that is
    done behind what reads the body, so that nobody holds a slot by sending half of one."""

    def __init__(self, app: ASGIApp, slots: RequestSlots, counts: bool) -> None:
        self.app = app
        self.slots = slots
        self.counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_exempt(scope["path"]):
            await self.app(scope, receive, send)
            return
        if self.slots.used >= self.slots.max_requests:
            problem = Overloaded(
                f"The service is already handling {self.slots.max_requests} requests.",
                action="Try again in a moment.",
            )
            response = answer_problem(problem, scope["state"]["request_id"])
            await response(scope, receive, send)
            return
        self.slots.used += self.counts
        try:
            await self.app(scope, receive, send)
        finally:
            self.slots.used -= self.counts


def _is_exempt(path: str) -> bool:
    return path in EXEMPT or path.startswith(FILES)
