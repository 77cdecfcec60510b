"""A key that opens the service: what it may do, to which books, and until when."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, computed_field

from bythebook.models.chunk import now
from bythebook.models.moment import UtcDatetime

Scope = Literal["read", "chat", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
KeyState = Literal["active", "expired", "revoked"]


class ApiKey(BaseModel):
    """A key as it is listed; its secret is not in here."""

    model_config = ConfigDict(frozen=True)

    key_id: str
    name: str
    scopes: tuple[Scope, ...] = Field(min_length=1)
    books: tuple[str, ...] | None = Field(default=None, description="None means every book.")
    created_at: UtcDatetime
    expires_at: UtcDatetime | None = None
    revoked_at: UtcDatetime | None = None
    origins: tuple[str, ...] | None = Field(
        default=None,
        description="Sites whose pages may use it; such a key is no secret. None for others.",
    )

    @property
    def is_publishable(self) -> bool:
        """Whether it stands in web pages, where everybody can read it."""
        return self.origins is not None

    def allows(self, scope: Scope) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def may_read(self, book_id: str) -> bool:
        """Also an admin's key can be for certain books only."""
        return self.books is None or book_id in self.books

    @computed_field  # type: ignore[prop-decorator]
    @property
    def state(self) -> KeyState:
        """Whether it opens anything at this moment."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now():
            return "expired"
        return "active"
