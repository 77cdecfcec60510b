"""The keys of the service: what each may do, and their table. Only a hash of a secret is stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, computed_field
from sqlalchemy import ColumnElement, insert, literal, or_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.engine import UNREADABLE, look_up, readable, reading, transaction
from bythebook.database.tables import keys
from bythebook.errors import BookNotFound, InputError, KeyRefused
from bythebook.models.chunk import now
from bythebook.models.values import UtcDatetime, check_book_id

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


MAX_NAME = 100
NEW_KEY = "Create one with `bythebook keys create NAME`."

# A key that anybody can read in a page looks different from one that must stay secret.
_SECRET, _PUBLISHABLE = "btb", "btbp"
_FORM = re.compile(
    rf"(?P<kind>{_SECRET}|{_PUBLISHABLE})_(?P<key_id>[0-9a-f]{{12}})_(?P<secret>[A-Za-z0-9_-]{{43}})"
)
# Compared with when there is no such key, so that finding none takes as long as a wrong secret.
_NO_HASH = "0" * 64
# A list and not `*`: the hash leaves the database in one place only.
_SHOWN = [column for column in keys.c if column.name != "secret_hash"]


class Keys:
    """The table of keys. A row stays when its key is revoked."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    def draft(
        self,
        name: str,
        scopes: Sequence[Scope],
        books: Sequence[str] | None = None,
        expires_at: datetime | None = None,
        origins: Sequence[str] | None = None,
    ) -> ApiKey:
        """A key that could be created; raises what is wrong. With `origins` it is one for web
        pages."""
        created_at = now()
        if origins is not None:
            _check_publishable(scopes, books)
        return ApiKey(
            key_id=secrets.token_hex(6),
            name=_checked_name(name),
            scopes=_checked_scopes(scopes),
            books=_checked_books(books),
            created_at=created_at,
            expires_at=_checked_expiry(expires_at, created_at),
            origins=_checked_origins(origins),
        )

    async def create(
        self,
        name: str,
        scopes: Sequence[Scope],
        books: Sequence[str] | None = None,
        expires_at: datetime | None = None,
        origins: Sequence[str] | None = None,
    ) -> tuple[ApiKey, str]:
        """A new key, and the text to send; nobody can get that text again."""
        return await self.add(self.draft(name, scopes, books, expires_at, origins))

    async def add(self, key: ApiKey) -> tuple[ApiKey, str]:
        """Store a draft."""
        secret = secrets.token_urlsafe(32)
        row = {**key.model_dump(exclude={"state"}), "secret_hash": _hash(secret)}
        async with transaction(self.engine) as connection:
            await connection.execute(insert(keys).values(**row))
        return key, f"{_kind(key)}_{key.key_id}_{secret}"

    async def list(self) -> list[ApiKey]:
        """Newest first."""
        query = select(*_SHOWN).order_by(keys.c.created_at.desc(), keys.c.key_id)
        async with reading(self.engine) as connection:
            rows = await connection.execute(query)
            return readable("key", map(dict, rows.mappings()), _key)

    async def revoke(self, key_id: str) -> ApiKey:
        """Make a key useless from now on; a name will do where only one key has it."""
        key = _named(await self.list(), key_id)
        if key.revoked_at is not None:
            return key
        revoked_at = now()
        async with transaction(self.engine) as connection:
            await connection.execute(
                update(keys)
                .where(keys.c.key_id == key.key_id, keys.c.revoked_at.is_(None))
                .values(revoked_at=revoked_at)
            )
        return key.model_copy(update={"revoked_at": revoked_at})

    async def verify(self, presented: str) -> ApiKey:
        """The key that somebody sent; what is wrong is told only to who knows the secret."""
        form = _FORM.fullmatch(presented)
        if form is None:
            raise _unknown()
        found = await look_up(self.engine, select(keys).where(keys.c.key_id == form["key_id"]))
        row = found[0] if found else None
        stored = row["secret_hash"] if row else _NO_HASH
        if not hmac.compare_digest(stored, _hash(form["secret"])) or row is None:
            raise _unknown()
        try:
            key = _key(row)
        except UNREADABLE as problem:  # somebody else wrote the row
            raise _unknown() from problem
        if form["kind"] != _kind(key):
            raise _unknown()
        if key.state != "active":
            raise KeyRefused(
                f"The key {key.name!r} has {'been revoked' if key.revoked_at else 'expired'}.",
                action=NEW_KEY,
                details={"state": key.state},
            )
        return key

    async def exist(self) -> bool:
        """Whether there ever was a key: from then on nobody gets in without one."""
        return bool(await look_up(self.engine, select(literal(1)).select_from(keys).limit(1)))

    async def usable(self) -> bool:
        """Whether anybody could get in."""
        query = select(literal(1)).select_from(keys).where(*_active()).limit(1)
        return bool(await look_up(self.engine, query))

    async def origins(self) -> frozenset[str]:
        """The sites whose pages may use some publishable key at this moment."""
        query = select(keys.c.origins).where(keys.c.origins.is_not(None), *_active())
        rows = await look_up(self.engine, query)
        listed = [row["origins"] for row in rows if isinstance(row["origins"], list)]
        return frozenset(str(origin) for origins in listed for origin in origins)


def _active() -> tuple[ColumnElement[bool], ...]:
    unexpired = or_(keys.c.expires_at.is_(None), keys.c.expires_at > now())
    return keys.c.revoked_at.is_(None), unexpired


def _kind(key: ApiKey) -> str:
    return _PUBLISHABLE if key.is_publishable else _SECRET


def _hash(secret: str) -> str:
    # A slow hash protects what people think up; nobody can try out 256 random bits.
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


def _key(row: dict[str, Any]) -> ApiKey:
    row.pop("secret_hash", None)
    return ApiKey.model_validate(row)


def _unknown() -> KeyRefused:
    return KeyRefused("The key is not known.", action=f"Check that it is whole. {NEW_KEY}")


def _named(known: Sequence[ApiKey], wanted: str) -> ApiKey:
    for key in known:
        if key.key_id == wanted:
            return key
    same = [key for key in known if key.name == wanted]
    candidates = [key for key in same if key.revoked_at is None] or same[:1]
    if len(candidates) > 1:
        ids = ", ".join(key.key_id for key in candidates)
        raise InputError(
            f"There are {len(candidates)} keys with the name {wanted!r}: {ids}.",
            action="Give the id of the one you mean.",
            details={"field": "key_id"},
        )
    if not candidates:
        raise BookNotFound(
            f"There is no key {wanted!r}.", action="List them with `bythebook keys list`."
        )
    return candidates[0]


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise InputError(
            "A key's name is 1 to 100 characters that can be printed.",
            action="Say who or what will use the key, such as `website`.",
            details={"field": "name"},
        )
    return name


def _checked_scopes(scopes: Sequence[Scope]) -> tuple[Scope, ...]:
    wrong = [scope for scope in scopes if scope not in SCOPES]
    if wrong or not scopes:
        raise InputError(
            f"There is no scope {wrong[0]!r}." if wrong else "A key needs at least one scope.",
            action=f"Give one or more of {', '.join(SCOPES)}.",
            details={"field": "scope"},
        )
    return tuple(scope for scope in SCOPES if scope in scopes)


def _checked_books(books: Sequence[str] | None) -> tuple[str, ...] | None:
    if books is None:
        return None
    if not books:
        raise InputError(
            "A key for no book can do nothing.",
            action="Name the books, or none for all of them.",
            details={"field": "book"},
        )
    return tuple(dict.fromkeys(check_book_id(book, "book") for book in books))


def _checked_expiry(expires_at: datetime | None, created_at: datetime) -> datetime | None:
    if expires_at is not None and expires_at <= created_at:
        raise InputError(
            f"The key would expire on {expires_at:%Y-%m-%d %H:%M}, which is in the past.",
            action="Give a time that is still to come.",
            details={"field": "expires"},
        )
    return expires_at


def _check_publishable(scopes: Sequence[Scope], books: Sequence[str] | None) -> None:
    if tuple(scopes) != ("chat",):
        raise InputError(
            "A publishable key has the scope chat and no other, since everybody can read it.",
            action="Leave out the scopes, or make a key that is not publishable.",
            details={"field": "scope"},
        )
    if not books:
        raise InputError(
            "A publishable key is for certain books, and none was named.",
            action="Name the books with --book.",
            details={"field": "book"},
        )


def _checked_origins(origins: Sequence[str] | None) -> tuple[str, ...] | None:
    if origins is None:
        return None
    if not origins:
        raise InputError(
            "A publishable key is for the pages of certain sites, and none was named.",
            action="Name them with --origin, such as `--origin https://book.example.org`.",
            details={"field": "origin"},
        )
    return tuple(dict.fromkeys(checked_origin(origin) for origin in origins))


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
