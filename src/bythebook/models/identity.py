"""Identifiers that come from outside, and new ones."""

from __future__ import annotations

import uuid
from typing import Annotated

from pydantic import AfterValidator, StringConstraints, WithJsonSchema

# The hyphenated form only: `uuid.UUID` would also take braces, "urn:uuid:" and bare digits.
_FORM = StringConstraints(
    to_lower=True, pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
)
_PATTERN_4 = (
    "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
)


def _version_4(value: str) -> str:
    if uuid.UUID(value).version != 4:
        raise ValueError("is not a UUID of version 4")
    return value


AnyUuid = Annotated[str, _FORM]
Uuid4 = Annotated[
    str,
    _FORM,
    AfterValidator(_version_4),
    WithJsonSchema({"type": "string", "pattern": _PATTERN_4}),
]


def new_id() -> str:
    return str(uuid.uuid4())
