"""Errors a person may see: one sentence that says what happened, one that says what to do.

Every code maps to one exit status and one HTTP status, so that no caller has to translate.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar


class BookError(Exception):
    """Base of every error that is meant for a person. Anything else is a bug."""

    code: ClassVar[str] = "E000"
    exit_status: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(
        self, message: str, *, action: str = "", details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.action = action
        self.details = details or {}

    def __reduce__(self) -> tuple[Any, ...]:
        """So that it can come out of another process."""
        return partial(type(self), action=self.action, details=self.details), (self.message,)

    def __str__(self) -> str:
        return f"{self.message} {self.action}".strip()


class ConfigurationError(BookError):
    """A setting or key is missing or does not fit what is stored."""

    code = "E001"


class BookNotFound(BookError):
    """There is no such book, lesson or passage in the index."""

    code = "E002"
    http_status = 404


class StoreError(BookError):
    """The vector index or the database can't be reached, opened or trusted."""

    code = "E003"
    http_status = 503


class ModelError(BookError):
    """The language model failed."""

    code = "E004"
    http_status = 503


class InputError(BookError):
    """What the caller gave can't be used: a path, a query, a filter."""

    code = "E005"
    http_status = 400


class EmbeddingError(BookError):
    """The embedding service failed."""

    code = "E006"
    http_status = 503


class BusyError(BookError):
    """Somebody else is doing this right now."""

    code = "E007"
    http_status = 409


class KeyRefused(BookError):
    """The key is missing, wrong, expired or revoked."""

    code = "E008"
    http_status = 401


class NotAllowed(BookError):
    """The key is valid, but not for this."""

    code = "E009"
    http_status = 403


class TooManyRequests(BookError):
    """The requests of this minute are used up, the key's or those of an address."""

    code = "E010"
    http_status = 429


class TooLarge(BookError):
    """More was sent than is taken."""

    code = "E011"
    http_status = 413


class Overloaded(BookError):
    """The service is overloaded or about to stop."""

    code = "E012"
    http_status = 503


class SourceError(BookError):
    """A web site or git repository can't be reached, or gives what can't be used."""

    code = "E013"
    http_status = 502


class TooSlow(BookError):
    """A request did not arrive completely in time."""

    code = "E014"
    http_status = 408


class DiskFull(StoreError):
    """There is no room to write; existing data can still be read."""

    code = "E015"
    http_status = 507
