"""Points in time at the edge: always with a zone, always in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def iso(moment: datetime) -> str:
    """S4's form: `2025-12-17T14:23:45.123Z`."""
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
