"""A book's folder that is a checkout of a git repository."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bythebook.errors import ConfigurationError
from bythebook.fetching.address import is_address
from bythebook.fetching.git import GitFailed, run_git
from bythebook.settings import Settings

PULL_SECONDS = 120.0


def is_checkout(folder: Path) -> bool:
    return any((place / ".git").exists() for place in (folder, *folder.parents))


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
