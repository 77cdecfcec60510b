"""A book's folder that is a checkout of a git repository."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bythebook.errors import ConfigurationError
from bythebook.fetching.address import Repository, is_address, stored_address
from bythebook.fetching.git import GitFailed, run_git
from bythebook.settings import Settings

PULL_SECONDS = 120.0
ORIGIN_SECONDS = 5.0


def is_checkout(folder: Path) -> bool:
    return any((place / ".git").exists() for place in (folder, *folder.parents))


def _folder_of(place: Path) -> Path:
    return place if place.is_dir() else place.parent


async def origin_of(source: str) -> str:
    """The repository that a book is read from, by its address or its checkout's own settings."""
    address = stored_address(source)
    if address is not None:
        return address.url if isinstance(address, Repository) else ""
    folder = await asyncio.to_thread(_folder_of, Path(source))
    if not await asyncio.to_thread(is_checkout, folder):
        return ""
    try:
        told = await run_git(folder, ("config", "--get", "remote.origin.url"), ORIGIN_SECONDS)
    except GitFailed:  # it has no origin, or nobody may ask
        return ""
    return told.strip()


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
