"""A key is looked at before the body is: who has none can't make the service read anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Asked

from bythebook.errors import BookError
from bythebook.models.key import Scope
from bythebook.server.access import Needs, admit
from bythebook.server.body import has_body
from bythebook.server.problems import answer_problem, note_problem


class KeyFirst:
    """Does what a route's own dependency would do, which FastAPI asks only behind the body."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self.app = app
        self._routes = [
            (route, needed.scopes)
            for route in routes
            if isinstance(route, APIRoute)
            for needed in _needs(route.dependant)
        ]

    async def __call__(self, scope: Asked, receive: Receive, send: Send) -> None:
        scopes = self._scopes(scope) if has_body(scope) else None
        if scopes is not None:
            request = Request(scope)
            try:
                caller = await admit(request, scope["app"].state.service, scopes)
                request.state.admitted = scopes, caller
            except BookError as problem:
                note_problem(problem)
                answer = answer_problem(problem, request.state.request_id)
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _scopes(self, scope: Asked) -> tuple[Scope, ...] | None:
        for route, scopes in self._routes:
            if route.matches(scope)[0] is Match.FULL:
                return scopes
        return None


def _needs(dependant: Dependant) -> Iterator[Needs]:
    if isinstance(dependant.call, Needs):
        yield dependant.call
    for inner in dependant.dependencies:
        yield from _needs(inner)
