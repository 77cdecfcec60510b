"""`bythebook migrate`: from the embedded index and database to servers."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from bythebook.cli.output import print_json
from bythebook.errors import InputError


def command(
    to_qdrant: Annotated[
        str | None, typer.Option(help="Address of the Qdrant server to move the index to.")
    ] = None,
    to_database: Annotated[
        str | None,
        typer.Option(help="Address of the PostgreSQL database to move everything else to."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was moved as JSON.")] = False,
) -> None:
    """Move books and conversations to servers; nothing is embedded again or taken away."""
    if to_qdrant is None and to_database is None:
        raise InputError(
            "There is nowhere to move to.", action="Give --to-qdrant, --to-database or both."
        )
    asyncio.run(_migrate(to_qdrant, to_database, json))


async def _migrate(to_qdrant: str | None, to_database: str | None, as_json: bool) -> None:
    from bythebook.cli.progress import steps
    from bythebook.library import Library
    from bythebook.moving.migration import migrate
    from bythebook.settings import load_settings

    settings = load_settings()
    given = {"qdrant_url": to_qdrant, "database_url": to_database}
    changes = {name: value for name, value in given.items() if value is not None}
    async with (
        await Library.open(settings) as source,
        await Library.open(settings.model_copy(update=changes)) as target,
    ):
        with steps() as on_step:
            moved = await migrate(source, target, on_step)
    if as_json:
        print_json(asdict(moved))
        return
    for book, passages in moved.passages.items():
        sys.stderr.write(f"{book}: {passages} passages are there.\n")
    if moved.rows:
        sys.stderr.write(
            f"{sum(moved.rows.values())} rows in {len(moved.rows)} tables are there.\n"
        )
    sys.stderr.write("From now on set:\n")
    for name, value in (("QDRANT_URL", to_qdrant), ("DATABASE_URL", to_database)):
        if value is not None:
            sys.stdout.write(f"{name}={value}\n")
