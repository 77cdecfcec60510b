"""How a service is doing, what it is, and what `bythebook doctor` finds."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from bythebook.errors import BookError
from bythebook.models.examples import example
from bythebook.models.values import IsoMoment, UtcDatetime


class Dependency(BaseModel):
    """Something the service depends on, and its state just now."""

    status: Literal["ok", "down", "not used"]
    latency_ms: float | None = Field(
        default=None, ge=0, description="Milliseconds until it answered or failed."
    )
    message: str | None = Field(default=None, description="What is wrong, or worth knowing.")


class Health(BaseModel):
    """`down`: it can't answer; `degraded`: it answers, but with limits."""

    model_config = ConfigDict(json_schema_extra=example("health"))

    status: Literal["ok", "degraded", "down"]
    version: str
    uptime_seconds: int = Field(ge=0)
    timestamp: IsoMoment = Field(description="When this was checked.")
    dependencies: dict[str, Dependency]


class ReadableBook(BaseModel):
    """A book that the caller may ask."""

    book_id: str
    title: str
    language: str
    total_chunks: int = Field(ge=0)
    total_files: int = Field(ge=0)
    base_url: str = Field(description="Address that the pages of the book stand under.")
    updated_at: UtcDatetime | None = Field(description="When it was last read in.")


class Limits(BaseModel):
    """Limits."""

    chat_message_characters: int
    agent_message_characters: int
    top_k: int
    search_characters: int
    search_results: int
    turns: int = Field(description="Questions in one conversation.")
    body_bytes: int = Field(description="Bytes of a request's body.")
    requests_per_minute: int | None = Field(description="Of one key; null means no limit.")


class Info(BaseModel):
    """The service's version, books and limits."""

    model_config = ConfigDict(json_schema_extra=example("info"))

    name: str
    version: str
    books: list[ReadableBook]
    answerer: Literal["built-in", "language model"]
    model: str
    embedder: str
    limits: Limits
    links: dict[str, str]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. What works may still need doing something about: `action`."""

    name: str
    ok: bool
    message: str
    action: str = ""
    figures: dict[str, object] = field(default_factory=dict)


@dataclass
class DoctorReport:
    checks: list[Check] = field(default_factory=list)

    def add(self, check: Check) -> None:
        self.checks.append(check)

    async def check(self, name: str, look: Awaitable[str]) -> bool:
        try:
            self.checks.append(Check(name, True, await look))
        except BookError as problem:
            self.checks.append(Check(name, False, problem.message, problem.action))
        return self.checks[-1].ok
