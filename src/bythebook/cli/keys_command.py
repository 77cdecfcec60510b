"""`bythebook keys`: who may use the service."""

from __future__ import annotations

import re
import sys
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from bythebook.cli.terminal import async_command, open_library, out, print_json, say
from bythebook.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bythebook.keys import ApiKey, Scope
    from bythebook.library import Library


app = typer.Typer(help="Create, list and revoke keys for the service.", no_args_is_help=True)

DEFAULT_SCOPES = ("read", "chat")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command()
@async_command
async def create(
    name: Annotated[str, typer.Argument(help="Who or what will use the key.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="What the key may do: read, chat or admin; may be repeated. "
            "Default: read and chat; for a publishable key only chat."
        ),
    ] = None,
    book: Annotated[
        list[str] | None,
        typer.Option(help="Only this book; may be repeated. Default: all books."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            help="When it expires: after 12h, 30d or 8w, or on a day such as 2030-12-31 (UTC)."
        ),
    ] = None,
    publishable: Annotated[
        bool,
        typer.Option(
            "--publishable",
            help="For web pages, where everybody can read the key. It may only chat; needs --book "
            "and --origin.",
        ),
    ] = False,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            help="Site whose pages may use a publishable key, such as https://book.example.org; "
            "may be repeated."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Create a key. It is shown only once."""
    expires_at = _expiry(expires) if expires is not None else None
    if origin and not publishable:
        raise InputError(
            "Only a publishable key can be limited to sites.",
            action="Add --publishable, or leave out --origin.",
            details={"field": "--origin"},
        )
    scopes = cast("Sequence[Scope]", scope or (("chat",) if publishable else DEFAULT_SCOPES))
    origins = (origin or []) if publishable else None
    from bythebook.keys import Keys

    async with open_library() as library:
        for book_id in book or ():
            await library.book(book_id)  # a key for a misspelt book would open nothing
        keys = Keys(library.engine)
        draft = keys.draft(name, scopes, book or None, expires_at, origins)
        if not await keys.exist():
            _confirm_first_key()
        key, text = await keys.add(draft)
        example = await _example_request(library, key)
    if json:
        print_json({**key.model_dump(mode="json"), "key": text})
        return
    # The key alone on stdout, so that a script can take it from there.
    until = f"expires {_shown(key.expires_at)} UTC" if key.expires_at else "does not expire"
    what = f"{', '.join(key.scopes)}; {_books(key)}; {until}"
    if key.origins:
        what += f"; pages of {', '.join(key.origins)}"
    say(f"Created the key {key.name} (id {key.key_id}): {what}.")
    if key.is_publishable:
        say("You may put it into those pages. It is not stored and can't be shown again.\n")
    else:
        say("Keep it safe: it is not stored and can't be shown again.\n")
    typer.echo(text)
    say(f"\nTry it while `bythebook serve` runs, with the key in place of KEY:\n\n{example}")


@app.command("list")
@async_command
async def list_keys(json: Json = False) -> None:
    """List the keys, newest first, without their secrets."""
    from bythebook.keys import Keys

    async with open_library() as library:
        known = await Keys(library.engine).list()
    if json:
        print_json(known)
        return
    if not known:
        out().print("There are no keys. Create one with `bythebook keys create NAME`.")
        return
    from rich.table import Column, Table
    from rich.text import Text

    # An id must stay whole, for `revoke`.
    whole = Column("id", no_wrap=True, min_width=12)
    table = Table(whole, "name", "may", "books", "made", "expires", "state", box=None)
    for key in known:
        table.add_row(
            key.key_id,
            Text(key.name),  # a name may look like markup
            _may(key),
            _books(key),
            f"{key.created_at:%Y-%m-%d}",
            _shown(key.expires_at) if key.expires_at else "never",
            key.state,
        )
    out().print(table)


@app.command()
@async_command
async def revoke(
    key: Annotated[str, typer.Argument(help="Id of the key, or its name if only one has it.")],
    json: Json = False,
) -> None:
    """Revoke a key. It stops working at once."""
    from bythebook.keys import Keys

    async with open_library() as library:
        revoked = await Keys(library.engine).revoke(key)
    if json:
        print_json(revoked)
    else:
        typer.echo(f"The key {revoked.name} (id {revoked.key_id}) is revoked.")


def _confirm_first_key() -> None:
    """A person is asked; a script would wait for ever."""
    say(
        "This is the first key. From now on the service asks everybody for one, the page on this "
        "machine too: paste a key there when it asks, an admin's for /admin. There is no way back "
        "in this data folder."
    )
    if sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm("Make it?", default=True, abort=True, err=True)


async def _example_request(library: Library, key: ApiKey) -> str:
    """A command that shows whether the key works. The key itself is said once, on stdout."""
    import json
    import shlex

    settings = library.settings
    host = "localhost" if settings.host in ("0.0.0.0", "::") else settings.host
    address = f"http://{f'[{host}]' if ':' in host else host}:{settings.port or 'PORT'}"
    words = ["curl", f"{address}/info", "-H", "Authorization: Bearer KEY"]
    if key.origins:
        words += ["-H", f"Origin: {key.origins[0]}"]
    if key.allows("chat"):
        question: dict[str, Any] = {"message": "What is this book about?"}
        mine = [book.book_id for book in await library.books() if key.may_read(book.book_id)]
        if len(mine) > 1:
            question["book_id"] = mine[0]
        words[1] = f"{address}/chat/run"
        words += ["-H", "Content-Type: application/json", "-d", json.dumps(question)]
    return shlex.join(words)


def _expiry(text: str) -> datetime:
    span = re.fullmatch(r"([0-9]{1,5})([hdw])", text)
    if span:
        return datetime.now(UTC) + int(span[1]) * _UNITS[span[2]]
    try:
        return datetime.combine(date.fromisoformat(text), time(23, 59, 59), UTC)
    except ValueError:
        raise InputError(
            f"{text!r} is not a valid time for a key to expire.",
            action="Give a span such as 12h, 30d or 8w, or a day such as 2030-12-31.",
            details={"field": "--expires"},
        ) from None


def _may(key: ApiKey) -> str:
    return ", ".join([*key.scopes, *(f"from {origin}" for origin in key.origins or ())])


def _books(key: ApiKey) -> str:
    return "all books" if key.books is None else ", ".join(key.books)


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
