"""Small values everybody shares: times, identifiers, addresses, book ids, short texts."""

from __future__ import annotations

import keyword
import math
import re
import uuid
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
)

from bythebook.errors import InputError

ProficiencyLevel = Literal["A1", "A2", "B1", "B2", "C1", "C2"]
TeachingLayer = Literal["L1", "L2", "L3", "L4"]
HardwareTier = Literal[1, 2, 3, 4]
IngestionMode = Literal["incremental", "full", "recreate"]
JobStatus = Literal["queued", "running", "completed", "failed"]

PROFICIENCY_LEVELS: tuple[str, ...] = get_args(ProficiencyLevel)
LAYERS: tuple[str, ...] = get_args(TeachingLayer)
HARDWARE_TIERS: tuple[int, ...] = get_args(HardwareTier)
INGESTION_MODES: tuple[str, ...] = get_args(IngestionMode)

DEFAULT_PROFICIENCY: ProficiencyLevel = "A2"
DEFAULT_LAYER: TeachingLayer = "L1"
DEFAULT_HARDWARE_TIER: HardwareTier = 1


class ClosedModel(BaseModel):
    """A field that it does not have is an error."""

    model_config = ConfigDict(extra="forbid")


class FrozenModel(ClosedModel):
    """Nor does a value change."""

    model_config = ConfigDict(frozen=True)


# Language model servers take names of at most 64 characters.
MAX_TOOL_NAME = 64


def _identifier(name: str) -> str:
    if not name.isascii() or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(
            "a tool's name has letters, digits and underscores, begins with no digit, and is no "
            "keyword of Python"
        )
    return name


ToolName = Annotated[str, Field(max_length=MAX_TOOL_NAME), AfterValidator(_identifier)]

# Characters of a question to the agent; a message of a chat has fewer.
MAX_QUESTION = 2000


def not_blank(text: str) -> str:
    """The text without white space around it; nothing but white space is an error."""
    stripped = text.strip()
    if not stripped:
        raise ValueError("is blank")
    return stripped


def or_null(schema: dict[str, Any]) -> None:
    """Null is taken, and means that nothing was given."""
    given = {
        name: schema.pop(name) for name in list(schema) if name not in ("title", "description")
    }
    schema["anyOf"] = [given, {"type": "null"}]


def counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def retry_after(header: str | None) -> float | None:
    """Seconds that a server asks to wait, as a number or a date; None if it does not say."""
    try:
        seconds = float(header or "")
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(header or "") - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


# All before the last @ of what stands between the slashes: names, passwords, tokens.
SIGNED_IN = re.compile(r"(?<=//)[^/\s]*@")


def shown_address(address: str) -> str:
    """Without the name and password that it may hold."""
    return SIGNED_IN.sub("", address)


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


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def iso(moment: datetime) -> str:
    """As it is sent: `2025-12-17T14:23:45.123Z`."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _is_iso(text: str) -> str:
    moment = datetime.fromisoformat(text)  # raises ValueError by itself
    if "T" not in text.upper() or moment.tzinfo is None:
        raise ValueError("is not an ISO 8601 date and time with a zone")
    return text


def _not_a_number(moment: Any) -> Any:
    """Numbers would be read as seconds or as milliseconds, depending on how large they are."""
    if isinstance(moment, int | float):
        raise ValueError("is not an ISO 8601 date and time with a zone")
    return moment


WrittenMoment = Annotated[AwareDatetime, BeforeValidator(_not_a_number)]
UtcDatetime = Annotated[AwareDatetime, AfterValidator(_in_utc)]
IsoMoment = Annotated[str, AfterValidator(_is_iso)]


BOOK_ID = r"^[a-z0-9][a-z0-9._-]{0,99}$"


def check_book_id(book_id: str, field: str = "book_id") -> str:
    if not re.fullmatch(BOOK_ID, book_id):
        raise InputError(
            f"{book_id!r} can't be a book's id.",
            action="Use lower-case letters, digits, dots, dashes and underscores, at most 100.",
            details={"field": field},
        )
    return book_id
