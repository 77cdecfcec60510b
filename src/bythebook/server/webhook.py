"""GitHub's webhooks: whether one is really from GitHub, is new, and changes the book."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import BaseModel, SecretStr
from sqlalchemy import bindparam, delete, insert, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bythebook.database.tables import UtcDateTime, deliveries
from bythebook.database.transaction import transaction
from bythebook.errors import BusyError, KeyRefused, NotAllowed
from bythebook.models.chunk import now
from bythebook.server.sent import read_sent

NOTE_ONCE = text(
    "INSERT INTO webhook_deliveries (digest, received_at) VALUES (:digest, :received_at) "
    "ON CONFLICT (digest) DO NOTHING"
).bindparams(bindparam("received_at", type_=UtcDateTime))


class Repository(BaseModel):
    default_branch: str
    clone_url: str = ""
    ssh_url: str = ""

    def is_at(self, url: str) -> bool:
        """Whether a book's git address or checkout is of this repository."""
        return bool(url) and _plain(url) in {_plain(own) for own in self._urls()}

    def _urls(self) -> list[str]:
        return [own for own in (self.clone_url, self.ssh_url) if own]


class Push(BaseModel):
    """What matters of GitHub's `push` event."""

    ref: str
    repository: Repository
    deleted: bool = False

    def why_ignored(self, branch: str | None = None) -> str | None:
        """None if it changes the branch that the book is read from, else the default one."""
        if branch and self.ref != f"refs/heads/{branch}":
            return f"It is not a push to {branch}."
        if not branch and self.ref != f"refs/heads/{self.repository.default_branch}":
            return "It is not a push to the default branch."
        return "The branch was deleted." if self.deleted else None


def _plain(url: str) -> str:
    return url.removesuffix("/").removesuffix(".git").lower()


def check_signature(secret: SecretStr | None, signature: str | None, body: bytes) -> None:
    """The signature is the key: only who knows the secret can make one for this body."""
    if secret is None:
        raise NotAllowed(
            "This service takes no webhooks.",
            action="Set GITHUB_WEBHOOK_SECRET to the secret of the webhook and start it again.",
        )
    digest = hmac.digest(secret.get_secret_value().encode(), body, "sha256").hex()
    # As bytes, because text that is not ASCII can't be compared in constant time.
    if not hmac.compare_digest(f"sha256={digest}".encode(), (signature or "").encode()):
        raise KeyRefused(
            "The webhook's signature is missing or does not fit its body.",
            action="Give the webhook the secret that GITHUB_WEBHOOK_SECRET has.",
            details={"field": "X-Hub-Signature-256"},
        )


def read_push(body: bytes) -> Push:
    action = "Choose application/json as the webhook's content type."
    return read_sent(Push, body, "the webhook", action)


class Deliveries:
    """Webhooks that were acted on. Only the body is signed, so the body is what counts: a new
    delivery id in front of an old body is an old webhook, and so is another book behind it."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    async def note(self, sender: str, body: bytes) -> list[str]:
        """What somebody sends again is new once. Returns what was noted; of several at once one
        gets through."""
        async with self._noting(sender) as connection:
            digest = _digest(sender, body)
            await connection.execute(insert(deliveries).values(digest=digest, received_at=now()))
        return [digest]

    async def note_push(self, book_id: str, body: bytes, *, of_repository: bool) -> list[str]:
        """Two webhooks of a repository with two books send the same body: a book that is read from
        the repository which the body names has its own, any other must be the first to come with
        it."""
        async with self._noting(book_id) as connection:
            own, whole = _digest(book_id, body), _digest("", body)
            at = {"received_at": now()}
            await connection.execute(insert(deliveries).values(digest=own, **at))
            note = NOTE_ONCE if of_repository else insert(deliveries)
            first = await connection.execute(note, {"digest": whole, **at})
            return [own, whole] if first.rowcount else [own]

    @asynccontextmanager
    async def _noting(self, whose: str) -> AsyncIterator[AsyncConnection]:
        try:
            async with transaction(self.engine) as connection:
                yield connection
        except IntegrityError as problem:
            raise BusyError(
                f"This webhook for {whose} was acted on before.",
                action="Nothing needs to be done; `POST /ingestion/trigger` ingests once more.",
                details={"book_id": whose},
            ) from problem

    async def forget(self, noted: list[str]) -> None:
        """It could not be acted on, so it may come again."""
        async with transaction(self.engine) as connection:
            await connection.execute(delete(deliveries).where(deliveries.c.digest.in_(noted)))


def _digest(whose: str, body: bytes) -> str:
    return hashlib.sha256(whose.encode() + b"\0" + body).hexdigest()
