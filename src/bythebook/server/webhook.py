"""GitHub's webhooks: whether one is really from GitHub, is new, and changes the book."""

from __future__ import annotations

import hashlib
import hmac

from pydantic import BaseModel, SecretStr
from sqlalchemy import delete, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.tables import deliveries
from bythebook.database.transaction import transaction
from bythebook.errors import BusyError, KeyRefused, NotAllowed
from bythebook.models.chunk import now
from bythebook.server.sent import read_sent


class Repository(BaseModel):
    default_branch: str


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
    delivery id in front of an old body is an old webhook."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    async def note(self, book_id: str, body: bytes) -> str:
        """Of several at once one gets through. Two webhooks of a repository with two books send
        the same body, so each book has its own."""
        digest = hashlib.sha256(book_id.encode() + b"\0" + body).hexdigest()
        try:
            async with transaction(self.engine) as connection:
                row = {"digest": digest, "received_at": now()}
                await connection.execute(insert(deliveries).values(row))
        except IntegrityError as problem:
            raise BusyError(
                f"This webhook for {book_id} was acted on before.",
                action="Nothing needs to be done; `POST /ingestion/trigger` ingests once more.",
                details={"book_id": book_id},
            ) from problem
        return digest

    async def forget(self, digest: str) -> None:
        """It could not be acted on, so it may come again."""
        async with transaction(self.engine) as connection:
            await connection.execute(delete(deliveries).where(deliveries.c.digest == digest))
