"""What GitHub and chat platforms send by themselves, once its signature is found good."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from bythebook.errors import InputError

Sent = TypeVar("Sent", bound=BaseModel)


def read_sent(model: type[Sent], body: bytes, sender: str, action: str) -> Sent:
    """The body as the model says; an error names the first field that can't be used."""
    try:
        return model.model_validate_json(body)
    except ValidationError as problem:
        first = problem.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "body"
        raise InputError(
            f"What {sender} sent can't be used: {field}: {first['msg']}.",
            action=action,
            details={"field": field},
        ) from problem
