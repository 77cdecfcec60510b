"""Output of the command line: results on stdout, messages and progress on stderr."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from bythebook.errors import BookError, InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

    from bythebook.library import Library
    from bythebook.settings import Settings

P = ParamSpec("P")


def async_command(command: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Typer calls commands without a loop."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(command(*args, **kwargs))

    return run


@asynccontextmanager
async def open_library(settings: Settings | None = None) -> AsyncIterator[Library]:
    from bythebook.library import Library  # slow to import, and not needed for --help

    async with await Library.open(settings) as library:
        yield library


@cache
def out() -> Console:
    from rich.console import Console  # slow to import, and not needed for --json

    return Console(highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(line: str) -> None:
    """A line on stderr: stdout is for results."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def print_json(document: Any) -> None:
    """Exactly one JSON document on stdout."""
    plain = to_jsonable_python(document)
    sys.stdout.write(json.dumps(plain, ensure_ascii=False, indent=2) + "\n")


def print_error(problem: BookError, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "status": "error",
                "error": problem.code,
                "message": problem.message,
                "suggested_action": problem.action,
                "details": problem.details,
            }
        )
    else:
        sys.stderr.write(f"Error {problem.code}: {problem}\n")


def input_error(problem: ValidationError, names: dict[str, str], command: str) -> InputError:
    """A field that does not fit, under the name the caller gave it."""
    first = problem.errors()[0]
    field = str(first["loc"][0]) if first["loc"] else ""
    name = names.get(field, field)
    message = first["msg"].removeprefix("Value error, ")
    for kind in ("String ", "Input ", "List "):
        message = message.removeprefix(kind)
    # A field's name at the beginning stays as it is written.
    if not name and "_" not in message.split(maxsplit=1)[0]:
        message = f"{message[:1].upper()}{message[1:]}"
    return InputError(
        f"{name} {message}.".lstrip(),
        action=f"See `bythebook {command} --help`.",
        details={"field": name} if name else {},
    )


@contextmanager
def progress_bar(*further: ProgressColumn) -> Iterator[Progress]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    name = TextColumn("{task.description}")
    columns = (name, BarColumn(), MofNCompleteColumn(), *further, TimeRemainingColumn())
    with Progress(*columns, console=err(), transient=True) as progress:
        yield progress


@contextmanager
def steps() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _all: None
        return
    with progress_bar() as progress:
        tasks = {}

        def show(what: str, done: int, all: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what)
            progress.update(tasks[what], completed=done, total=all)

        yield show
