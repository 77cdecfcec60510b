"""The program git: what it is told, and what it must not do."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

# A service may have been started by git itself; its repository is not the book's.
NOT_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
SECRET_IN_ADDRESS = re.compile(r"//[^/@\s]+@")


class GitFailed(Exception):
    """Why git could not do it, in one line without secrets."""


async def run_git(
    folder: Path,
    arguments: Sequence[str],
    seconds: float,
    *,
    settings: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> str:
    """What git printed. It asks nothing and runs no hook; its children end with it."""
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    options = [part for setting in settings for part in ("-c", setting)]
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            "git",
            *("-c", "core.hooksPath=/dev/null", *options, "-C", str(folder)),
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(environment or {})},
            start_new_session=True,  # no terminal to ask on, and one group to end
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Whoever stops the start itself ends git alone, and then waits for its children.
        with suppress(OSError):
            await _end(await starting)
        raise
    except FileNotFoundError as problem:
        raise GitFailed("the program git is not installed") from problem
    except OSError as problem:
        raise GitFailed(f"git can't be run: {problem.strerror}") from problem
    try:
        async with asyncio.timeout(seconds):
            said, _ = await process.communicate()
    except TimeoutError as problem:
        raise GitFailed(f"it took longer than {seconds:.0f} s") from problem
    finally:
        await _end(process)
    text = said.decode("utf-8", "replace").strip()
    if process.returncode:
        lines = SECRET_IN_ADDRESS.sub("//", text).splitlines()
        raise GitFailed(_reason(lines) or f"it ended with status {process.returncode}")
    return text


async def _end(process: asyncio.subprocess.Process) -> None:
    """With all its children."""
    if process.returncode is None:
        with suppress(ProcessLookupError):  # it has just ended, and nobody has noted it yet
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _reason(lines: Sequence[str]) -> str:
    """The last line that says what is wrong, else the last."""
    wrong = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    return (wrong or list(lines) or [""])[-1].strip().rstrip(".")
