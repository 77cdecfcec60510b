"""`bythebook books`: what is in the index."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from bythebook.cli.output import out, print_json


def command(
    remove: Annotated[
        str | None, typer.Option(help="Take this book out of the index; its files stay.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the books as JSON.")] = False,
) -> None:
    """List the books in the index, or remove one."""
    asyncio.run(_books(remove, json))


async def _books(remove: str | None, as_json: bool) -> None:
    from bythebook.library import Library

    async with await Library.open() as library:
        if remove is not None:
            removed = await library.remove_book(remove)
            sys.stderr.write(f"Removed {removed.book_id} ({removed.total_chunks} passages).\n")
        known = await library.books()
    if as_json:
        print_json([book.model_dump(mode="json") for book in known])
        return
    if not known:
        out().print("There is no book in the index. Run `bythebook ingest PATH`.")
        return
    from rich.table import Table

    table = Table("book", "title", "files", "passages", "embedding model", box=None)
    for book in known:
        counts = (str(book.total_files), str(book.total_chunks))
        table.add_row(book.book_id, book.title, *counts, book.embedding_model)
    out().print(table)
