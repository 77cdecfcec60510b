"""`bythebook search`: the passages that fit a question best."""

from __future__ import annotations

import asyncio
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from bythebook.cli import filters
from bythebook.cli.output import input_error, out, print_json
from bythebook.cli.snippet import snippet

if TYPE_CHECKING:
    from bythebook.models.passage import Passage
    from bythebook.settings import Settings

OPTIONS = {**filters.OPTIONS, "text": "TEXT", "limit": "--limit"}
WIDTH = 100
INDENT = "   "


@filters.takes_filters
def command(
    text: Annotated[str, typer.Argument(help="What to look for, at least 3 characters.")],
    *,
    book: filters.Book = None,
    limit: Annotated[int, typer.Option(help="Results, 1 to 20.")] = 5,
    context: Annotated[int, typer.Option(help="Neighbours to show around each result.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the response as JSON.")] = False,
    where: dict[str, Any],
) -> None:
    """Search a book by meaning and by words."""
    asyncio.run(search(book, {"text": text, "limit": limit, **where}, context, as_json=json))


async def search(
    book_id: str | None,
    fields: dict[str, Any],
    context: int = 0,
    as_json: bool = False,
    settings: Settings | None = None,
) -> None:
    from bythebook.library import Library
    from bythebook.models.search import SearchQuery, SearchResponse

    try:
        SearchQuery(**fields)  # what is wrong with the words needs no index to say
    except ValidationError as problem:
        raise input_error(problem, OPTIONS, "search") from problem
    async with await Library.open(settings) as library:
        book = await library.book(book_id)
        query = SearchQuery(**fields, book_id=book.book_id)
        found = await library.search(query)
        response = SearchResponse.of(query, found.passages, found.total)
        if as_json:
            print_json(response.model_dump(mode="json"))
            return
        if not found.passages:
            out().print("Nothing in the book matches these filters.")
        for rank, passage in enumerate(found.passages, 1):
            around = [passage]
            if context > 0:
                around = await library.context(book.book_id, passage.id, context, context)
            _show(rank, passage, around, query.text, book.language)


def _show(rank: int, passage: Passage, around: list[Passage], question: str, language: str) -> None:
    from rich.markup import escape

    place = passage.metadata
    console = out()
    path = escape(" › ".join(place.heading_path))
    console.print(f"[bold]{rank}. {path}[/bold]  [cyan]{passage.score:.2f}[/cyan]")
    console.print(
        f"   [dim]{escape(place.module)} · chapter {place.chapter} · lesson {place.lesson}[/dim]"
    )
    console.print(f"   [blue]{escape(place.url)}[/blue]", soft_wrap=True)
    if len(around) > 1:
        shown = "\n\n".join(neighbour.text for neighbour in around)
    else:
        shown = snippet(passage.text, question, language)
    wrapper = TextWrapper(
        min(console.width, WIDTH), initial_indent=INDENT, subsequent_indent=INDENT
    )
    for line in shown.splitlines():
        console.print(escape(wrapper.fill(line)), soft_wrap=True)
    console.print()
