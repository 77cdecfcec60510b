"""Errors as they leave the service: one shape for all, and that of chat completions."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal, Self

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from bythebook.errors import BookError, BookNotFound, InputError
from bythebook.models.chunk import now
from bythebook.models.examples import example
from bythebook.models.values import IsoMoment, iso

PREFIX = "/v1/"
TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
# Where clients know a code, that one.
CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}


class CompletionError(BaseModel):
    """What happened and what to do."""

    message: str
    type: str
    param: str | None = Field(description="The field that can't be used.")
    code: str = Field(
        description="`invalid_api_key`, `model_not_found`, `rate_limit_exceeded`, or bythebook's."
    )


class CompletionProblem(BaseModel):
    """Every error below `/v1`, in OpenAI's shape."""

    model_config = ConfigDict(json_schema_extra=example("completion_problem"))

    error: CompletionError

    @classmethod
    def of(cls, error: BookError, status: int) -> Self:
        param = error.details.get("field")
        is_unknown_model = (status, param) == (404, "model")
        other = "server_error" if status >= 500 else "invalid_request_error"
        return cls(
            error=CompletionError(
                message=str(error),
                type=TYPES.get(status, other),
                param=param,
                code="model_not_found" if is_unknown_model else CODES.get(status, error.code),
            )
        )


def is_for_completions(path: str) -> bool:
    """Whether who asks at this address expects OpenAI's shape."""
    return path.startswith(PREFIX)


logger = logging.getLogger(__name__)

# Any request may meet these.
ALWAYS = (408, 413, 431, 503, 507)
DESCRIPTIONS = {
    400: "A field or parameter can't be used; `details.field` names it.",
    401: "The key is missing, wrong, expired or revoked.",
    403: "The key is valid, but not for this.",
    404: "There is no such book, passage, session or job.",
    408: "The request did not arrive in time.",
    409: "Another process is doing this right now, or it was already done.",
    413: "The body is too large.",
    429: "The limit of the key or of the address is reached; `Retry-After` says when to come back.",
    431: "The headers are too large.",
    500: "The service is not set up for this, or something went wrong inside.",
    503: "Something the service depends on is down, or it is overloaded.",
    507: "The disk is full, or only its reserve is left; existing data can still be read.",
}


class Problem(BaseModel):
    """Every error: what happened, what to do, and how to find it in the log."""

    model_config = ConfigDict(json_schema_extra=example("problem"))

    status: Literal["error"] = Field(default="error", description="Always `error`.")
    error: str = Field(description="Code of the error.")
    message: str = Field(description="What happened.")
    suggested_action: str = Field(description="What to do about it.")
    details: dict[str, Any] | None = Field(default=None, description="More, such as the field.")
    request_id: str = Field(description="The same as in the header X-Request-ID and in the log.")
    timestamp: IsoMoment

    @classmethod
    def of(cls, error: BookError, request_id: str) -> Problem:
        return cls(
            error=error.code,
            message=error.message,
            suggested_action=error.action,
            details=error.details or None,
            request_id=request_id,
            timestamp=iso(now()),
        )


def problems(*statuses: int, model: type[BaseModel] = Problem) -> dict[int | str, dict[str, Any]]:
    """What a route may answer besides its result, for its documentation."""
    return {
        status: {"model": model, "description": DESCRIPTIONS[status]}
        for status in sorted({*statuses, *ALWAYS})
    }


def keyed(*statuses: int, model: type[BaseModel] = Problem) -> dict[int | str, dict[str, Any]]:
    """The same for a route that takes a key."""
    return problems(400, 401, 403, 429, *statuses, model=model)


def answer_problem(
    error: BookError,
    scope: Mapping[str, Any],
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """An error in the shape that the clients of its address know."""
    status = status or error.http_status
    sent = dict(headers or {})
    if status == HTTPStatus.UNAUTHORIZED:
        sent.setdefault("WWW-Authenticate", "Bearer")
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        sent.setdefault("Retry-After", "5")
    if status == HTTPStatus.TOO_MANY_REQUESTS and "retry_after" in error.details:
        sent.setdefault("Retry-After", str(error.details["retry_after"]))
    if is_for_completions(scope["path"]):
        body = CompletionProblem.of(error, status).model_dump()
    else:
        body = Problem.of(error, scope["state"]["request_id"]).model_dump(
            mode="json", exclude_none=True
        )
    return JSONResponse(body, status, sent)


def log_problem(error: BookError) -> None:
    """What the caller can't mend is told to the operator."""
    if error.http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.warning("A request failed: %s", error.message, extra={"error": error.code})


def unexpected() -> BookError:
    return BookError(
        "Something went wrong inside bythebook.",
        action="Look for the request_id in its log; if it happens again, report it.",
    )


def handle_problems(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Every error that a route raises takes the one shape."""

    async def on_book_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, BookError)
        log_problem(error)
        return answer_problem(error, request.scope)

    async def on_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return answer_problem(_invalid(error, request), request.scope)

    async def on_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(_methods_at(request, routes)) or headers.get("Allow", "")
        problem = _http_error(error, request)
        return answer_problem(problem, request.scope, error.status_code, headers)

    app.add_exception_handler(BookError, on_book_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http_error)


def _methods_at(request: Request, routes: Sequence[BaseRoute]) -> list[str]:
    """All that an address takes; the framework knows the first route of it only."""
    found: set[str] = set()
    for route in routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return sorted(found)


def _invalid(error: RequestValidationError, request: Request) -> InputError:
    """The first thing that is wrong, under its name; the client's own text is not sent back."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _unreadable("The body is not JSON.")
    place = [str(part) for part in first["loc"]]
    # A page of another site can't send JSON as such unasked, so nothing else is taken for it.
    if place == ["body"] and "json" not in request.headers.get("content-type", "").lower():
        return InputError(
            "The body was not sent as JSON.",
            action="Send a JSON object with the header Content-Type: application/json.",
            details={"field": "body"},
        )
    # "body" says nothing where a field follows; of a body as a whole it is all there is.
    name = ".".join(place[1:]) or place[0]
    if first["type"] == "missing":
        return InputError(
            f"The field {name} is missing.",
            action=f"Add the field {name} and send the request again.",
            details={"field": name},
        )
    reason = first["msg"].removeprefix("Value error, ")
    reason = reason[:1].lower() + reason[1:]
    return InputError(
        f"The field {name} is invalid: {reason}.",
        action=f"Change the field {name} and send the request again.",
        details={"field": name},
    )


def _unreadable(message: str) -> InputError:
    return InputError(message, action="Send a JSON object.", details={"field": "body"})


def _http_error(error: HTTPException, request: Request) -> BookError:
    if error.status_code == HTTPStatus.NOT_FOUND:
        return BookNotFound(
            "There is nothing at this address.", action="`GET /docs` lists what there is."
        )
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return InputError(
            f"This address does not take {request.method}.",
            action="`GET /docs` lists what there is.",
        )
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return _unreadable("The body is not JSON in UTF-8.")
    return InputError(f"{error.detail}.".replace("..", "."), action="See `GET /docs`.")
