"""How the command line speaks: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bythebook.errors import BookError, InputError

if TYPE_CHECKING:
    from rich.console import Console


@cache
def out() -> Console:
    from rich.console import Console  # slow to import, and not needed for --json

    return Console(highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    """Exactly one JSON document on stdout."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def print_error(problem: BookError, as_json: bool) -> None:
    if as_json:
        print_json(
            {
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
    message = message[:1].lower() + message[1:]
    subject = f"{name}: {message}" if name else message
    return InputError(
        f"That can't be done, because {subject}.",
        action=f"See `bythebook {command} --help`.",
        details={"field": name} if name else {},
    )
