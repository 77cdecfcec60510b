"""Errors as the clients of chat completions know them."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from bythebook.errors import BookError

PREFIX = "/v1/"
EXAMPLE: dict[str, Any] = {
    "error": {
        "message": "There is no book 'physics'. `GET /v1/models` lists the books.",
        "type": "invalid_request_error",
        "param": "model",
        "code": "model_not_found",
    }
}
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

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})

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
