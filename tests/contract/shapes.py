"""What a field of a JSON object may hold, by a word for its kind."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any


def _is_uuid(value: Any) -> bool:
    return isinstance(value, str) and str(uuid.UUID(value)) == value


def _is_moment(value: Any) -> bool:
    moment = datetime.fromisoformat(value)
    return "T" in value and moment.utcoffset() == timedelta(0)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


KINDS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str) and bool(value.strip()),
    "uuid": _is_uuid,
    "uuid4": lambda value: _is_uuid(value) and uuid.UUID(value).version == 4,
    "sha256": lambda value: bool(re.fullmatch("[0-9a-f]{64}", value)),
    "moment": _is_moment,
    "share": lambda value: isinstance(value, int | float) and 0 <= value <= 1,
    "number": lambda value: isinstance(value, int | float) and value >= 0,
    "whole": _is_whole,
    "positive": lambda value: _is_whole(value) and value >= 1,
    "bool": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list),
    "some": lambda value: isinstance(value, list) and bool(value),
    "object": lambda value: isinstance(value, dict),
    "none": lambda value: value is None,
}


def misfits(told: Mapping[str, Any], kinds: Mapping[str, str]) -> list[str]:
    """The fields that are missing or hold something else; `a|b` is either kind."""
    return [
        f"{name} is no {kind}: {told.get(name, 'missing')!r}"
        for name, kind in kinds.items()
        if name not in told or not any(_fits(told[name], one) for one in kind.split("|"))
    ]


def _fits(value: Any, kind: str) -> bool:
    try:
        return KINDS[kind](value)
    except (TypeError, ValueError, AttributeError):
        return False
