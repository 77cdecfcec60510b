"""What others send: signatures and bodies, deliveries that were acted on, pulling checkouts."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, SecretStr, ValidationError
from sqlalchemy import bindparam, delete, insert, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bythebook.database.engine import transaction
from bythebook.database.tables import UtcDateTime, deliveries
from bythebook.errors import BusyError, ConfigurationError, InputError, KeyRefused, NotAllowed
from bythebook.fetching.address import Repository, is_address, stored_address
from bythebook.fetching.git import GitFailed, run_git
from bythebook.models.chunk import now
from bythebook.settings import Settings

Body = TypeVar("Body", bound=BaseModel)


def parse_body(model: type[Body], body: bytes, sender: str, action: str) -> Body:
    """The body as the model says; an error names the first field that can't be used."""
    try:
        return model.model_validate_json(body)
    except ValidationError as problem:
        first = problem.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "body"
        raise InputError(
            f"What {sender} sent can't be used: {field}: {first['msg']}.",
            action=action,
            details={"field": field},
        ) from problem


# An older request is somebody's copy.
LONGEST_AGO = 300
LONGEST_TIMESTAMP = 12


def wrong_signature(platform: str, setting: str, header: str) -> KeyRefused:
    """The same whatever is wrong."""
    return KeyRefused(
        f"The signature of {platform} is missing, too old or does not fit the body.",
        action=f"Give {setting} the value that {platform} shows for the app, and set the "
        "machine's clock.",
        details={"field": header},
    )


def is_recent(timestamp: str) -> bool:
    """Whether it is a moment, in seconds, of the last five minutes or the next."""
    if not (timestamp.isascii() and timestamp.isdigit()) or len(timestamp) > LONGEST_TIMESTAMP:
        return False
    return abs(time.time() - int(timestamp)) <= LONGEST_AGO


PULL_SECONDS = 120.0
ORIGIN_SECONDS = 5.0


def is_checkout(folder: Path) -> bool:
    return any((place / ".git").exists() for place in (folder, *folder.parents))


async def origin_of(source: str) -> str:
    """The repository that a book is read from, by its address or its checkout's own settings."""
    address = stored_address(source)
    if address is not None:
        return address.url if isinstance(address, Repository) else ""
    place = Path(source)
    folder = place if await asyncio.to_thread(place.is_dir) else place.parent
    if not await asyncio.to_thread(is_checkout, folder):
        return ""
    try:
        origin = await run_git(folder, ("config", "--get", "remote.origin.url"), ORIGIN_SECONDS)
    except GitFailed:  # it has no origin, or nobody may ask
        return ""
    return origin.strip()


async def bring_up_to_date(source: str, settings: Settings) -> None:
    """Pull, where the operator wants it and the folder is a checkout. What is elsewhere is fetched
    by the job itself."""
    if is_address(source):
        return
    folder = Path(source)
    if settings.webhook_pull and await asyncio.to_thread(is_checkout, folder):
        await pull(folder)


async def pull(folder: Path, seconds: float = PULL_SECONDS) -> None:
    """Fetch what the checkout's own settings name and move forward; it never merges, asks
    anything or runs a hook."""
    try:
        await run_git(folder, ("pull", "--ff-only", "--quiet"), seconds)
    except GitFailed as problem:
        raise ConfigurationError(
            f"`git pull` failed in {folder}: {str(problem).rstrip('.')}.",
            action="Run `git pull --ff-only` there by hand, then trigger the ingest again.",
        ) from problem


NOTE_ONCE = text(
    "INSERT INTO webhook_deliveries (digest, received_at) VALUES (:digest, :received_at) "
    "ON CONFLICT (digest) DO NOTHING"
).bindparams(bindparam("received_at", type_=UtcDateTime))


class WebhookRepository(BaseModel):
    default_branch: str
    clone_url: str = ""
    ssh_url: str = ""

    def is_at(self, url: str) -> bool:
        """Whether a book's git address or checkout is of this repository."""
        return bool(url) and _plain(url) in (_plain(self.clone_url), _plain(self.ssh_url))


class Push(BaseModel):
    """What matters of GitHub's `push` event."""

    ref: str
    repository: WebhookRepository
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
    return parse_body(Push, body, "the webhook", action)


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
