"""Books in git repositories: what the program git is told, and checkouts below the home."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from bythebook.errors import DiskFull, InputError, SourceError
from bythebook.fetching.address import DEFAULT_PORTS, Repository, without_password
from bythebook.fetching.guard import Guard
from bythebook.files import check_room, disk_full

# How often to look at the disk while git writes.
SECONDS_BETWEEN_CHECKS = 0.2
NO_SPACE = os.strerror(errno.ENOSPC)
# A service may have been started by git itself; its repository is not the book's.
NOT_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")


class GitFailed(Exception):
    """Why git could not do it, in one line without secrets."""


async def run_git(
    folder: Path,
    arguments: Sequence[str],
    seconds: float,
    *,
    settings: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    check: Callable[[], None] = lambda: None,
) -> str:
    """What git printed. It asks nothing and runs no hook; its children end with it. While it runs,
    `check` may raise what ends it."""
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
            output = await _output(process, check)
    except TimeoutError as problem:
        raise GitFailed(f"it took longer than {seconds:.0f} s") from problem
    finally:
        await _end(process)
    text = output.decode("utf-8", "replace").strip()
    if process.returncode and NO_SPACE in text:  # git filled the disk between two looks at it
        raise disk_full(folder)
    if process.returncode:
        lines = without_password(text).splitlines()
        raise GitFailed(_reason(lines) or f"it ended with status {process.returncode}")
    return text


async def _output(process: asyncio.subprocess.Process, check: Callable[[], None]) -> bytes:
    talk = asyncio.create_task(process.communicate())
    try:
        while not talk.done():
            check()
            await asyncio.wait({talk}, timeout=SECONDS_BETWEEN_CHECKS)
        return (await talk)[0]
    finally:
        talk.cancel()


async def _end(process: asyncio.subprocess.Process) -> None:
    """With all its children."""
    if process.returncode is None:
        with suppress(ProcessLookupError):  # it has just ended, and nobody has noted it yet
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:  # Windows has no groups; git's children end when their pipe does
                process.kill()
        await process.wait()


def _reason(lines: Sequence[str]) -> str:
    """The last line that says what is wrong, else the last."""
    wrong = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    return (wrong or list(lines) or [""])[-1].strip().rstrip(".")


# Nothing but the pages themselves: no further repositories, no large files from elsewhere.
SETTINGS = (
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "core.fsmonitor=false",
    "gc.autoDetach=false",
    "core.logAllRefUpdates=false",  # so that old commits can be cleared away
    "http.followRedirects=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
)


async def fetch_repository(
    repository: Repository, folder: Path, guard: Guard, seconds: float, reserve: int = 0
) -> None:
    """The newest commit of the branch, without its history; of an earlier fetch only what is new
    travels. What is there stays if anything fails, and `reserve` bytes of the disk stay
    free."""
    settings = [*SETTINGS, *await _pinned(repository, guard)]
    environment = {
        # More than the address's own: a person's settings may let one stand for the other.
        "GIT_ALLOW_PROTOCOL": "file" if repository.is_local else "https:http:ssh",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "SSH_ASKPASS_REQUIRE": "never",
    }

    async def git(*arguments: str) -> str:
        return await run_git(
            *(folder, arguments, seconds),
            settings=settings,
            environment=environment,
            check=lambda: check_room(folder, reserve),
        )

    try:
        if not (folder / ".git" / "HEAD").is_file():
            await asyncio.to_thread(_empty, folder)
            await git("init", "--quiet", "--template=")
        wanted = repository.ref or "HEAD"
        await git(
            *("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"),
            *("--no-write-commit-graph", "--update-shallow", "--", repository.url, wanted),
        )
        await git("checkout", "--quiet", "--force", "--detach", "FETCH_HEAD", "--")
        await git("clean", "--quiet", "-ffdx")
    except DiskFull:
        await asyncio.to_thread(_drop_halves, folder)
        raise
    except GitFailed as problem:
        raise _failed(repository, str(problem)) from problem
    await asyncio.to_thread(drop_links_out, folder)


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _drop_halves(folder: Path) -> None:
    """What git had received when it was ended stays otherwise, and its lock would stop the next."""
    own = folder / ".git"
    halves = [*own.glob("objects/**/tmp_*"), own / "shallow.lock", own / "index.lock"]
    for half in halves:
        with suppress(OSError):
            half.unlink(missing_ok=True)


async def _pinned(repository: Repository, guard: Guard) -> list[str]:
    """Git connects by itself, so it is told the addresses that were looked at."""
    if not repository.is_web:
        return []
    parts = urlsplit(repository.url)
    host = parts.hostname or ""
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    addresses = await guard.resolve(host, port)
    if host.replace(".", "").isdecimal() or ":" in host:
        return ["http.proxy="]
    return ["http.proxy=", f"http.curloptResolve={host}:{port}:{','.join(addresses)}"]


def drop_links_out(folder: Path) -> None:
    """A link that leads out of the checkout, or into git's own files, could show others' files as
    pages of the book."""
    top = folder.resolve()
    own = top / ".git"
    for place, folders, files in os.walk(top, followlinks=False):
        if Path(place) == top:
            folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *files):
            link = Path(place) / name
            if not link.is_symlink():
                continue
            try:
                target = link.resolve()
            except (OSError, RuntimeError):
                target = own
            if not target.is_relative_to(top) or target.is_relative_to(own):
                link.unlink()


def book_folder(repository: Repository, folder: Path) -> Path:
    """The folder or file of the book in a checkout."""
    place = (folder / repository.path).resolve()
    if not place.is_relative_to(folder.resolve()) or not place.exists():
        raise InputError(
            f"There is no {repository.path or 'checkout'} in the repository {repository.url}.",
            action="Check --path and --ref.",
        )
    return place


def _failed(repository: Repository, reason: str) -> SourceError:
    action = "Check the address, --ref and your rights there; what was fetched before stays."
    if "not installed" in reason:
        action = "Install git, or give a folder instead."
    return SourceError(f"{repository.url} can't be fetched: {reason.rstrip('.')}.", action=action)
