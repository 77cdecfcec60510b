"""A book's folder that is a checkout of a git repository."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from pathlib import Path

from bythebook.errors import ConfigurationError

PULL_SECONDS = 120.0
# A service may have been started by git itself; its repository is not the book's.
NOT_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
SECRET_IN_ADDRESS = re.compile(r"//[^/@\s]+@")


def is_checkout(folder: Path) -> bool:
    return any((place / ".git").exists() for place in (folder, *folder.parents))


async def pull(folder: Path, seconds: float = PULL_SECONDS) -> None:
    """Fetch what the checkout's own settings name and move forward; it never merges, asks
    anything or runs a hook."""
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *("-c", "core.hooksPath=/dev/null", "-C", str(folder)),
            *("pull", "--ff-only", "--quiet"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            start_new_session=True,  # no terminal to ask on, and one group to end
        )
    except OSError as problem:
        raise _failed(folder, f"git can't be run: {problem.strerror}") from problem
    try:
        async with asyncio.timeout(seconds):
            said, _ = await process.communicate()
    except TimeoutError as problem:
        raise _failed(folder, f"it took longer than {seconds:.0f} s") from problem
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        lines = said.decode("utf-8", "replace").strip().splitlines()
        last = SECRET_IN_ADDRESS.sub("//", lines[-1]) if lines else ""
        raise _failed(folder, last or f"it ended with status {process.returncode}")


def _failed(folder: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"`git pull` failed in {folder}: {reason.rstrip('.')}.",
        action="Run `git pull --ff-only` there by hand, then trigger the ingest again.",
    )
