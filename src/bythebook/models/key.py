"""A key that opens the service: what it may do, to which books, from which pages, until when."""

from __future__ import annotations

import re
from typing import Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, computed_field

from bythebook.errors import InputError
from bythebook.models.chunk import now
from bythebook.models.values import UtcDatetime

DEFAULT_PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?|[0-9a-f:.]{2,45}")


def checked_origin(origin: str) -> str:
    """An origin as browsers send it: small letters, no default port, no path."""
    text = origin.strip().lower().removesuffix("/")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    named = f"[{host}]" if ":" in host else host
    shown = f"{parts.scheme}://{named}"
    if port is not None and port != DEFAULT_PORTS.get(parts.scheme):
        shown += f":{port}"
    is_whole = text in (shown, f"{parts.scheme}://{named}:{port}")
    if parts.scheme not in DEFAULT_PORTS or not HOST.fullmatch(host) or not is_whole:
        raise InputError(
            f"{origin!r} is no site's origin.",
            action="Give scheme, host and any port, such as https://book.example.org; "
            "names with other letters in their xn-- form.",
            details={"field": "origin"},
        )
    return shown


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
