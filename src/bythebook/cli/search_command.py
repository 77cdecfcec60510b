"""`bythebook search`: the passages that fit a question best."""

from __future__ import annotations

import asyncio
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from bythebook.cli import book_options
from bythebook.cli.terminal import input_error, out, print_json, snippet

if TYPE_CHECKING:
    from bythebook.models.passage import Passage
    from bythebook.settings import Settings


OPTIONS = {**book_options.OPTIONS, "text": "TEXT", "limit": "--limit"}
WIDTH = 100
INDENT = "   "


@book_options.takes_filters
def search_command(
    text: Annotated[
        list[str],
        typer.Argument(metavar="TEXT", help="What to search for, at least 3 characters."),
    ],
    *,
    book: book_options.Book = None,
    limit: Annotated[int, typer.Option(help="Number of results, 1 to 20.")] = 5,
    context: Annotated[
        int, typer.Option(help="Neighbouring passages to show around each result.")
    ] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the response as JSON.")] = False,
    where: dict[str, Any],
) -> None:
    """Find the passages that fit a text best, by meaning and by words.

    All given filters must match. From a score of 0.7 on, the book seems to answer.
    """
    asyncio.run(
        search(book, {"text": " ".join(text), "limit": limit, **where}, context, as_json=json)
    )


async def search(
    book_id: str | None,
    fields: dict[str, Any],
    context: int = 0,
    as_json: bool = False,
    settings: Settings | None = None,
) -> None:
    from bythebook.cli.book_options import chosen_book
    from bythebook.library import Library
    from bythebook.models.search_messages import SearchQuery, SearchResponse

    try:
        SearchQuery(**fields)  # what is wrong with the words needs no index to say
    except ValidationError as problem:
        raise input_error(problem, OPTIONS, "search") from problem
    async with await Library.open(settings) as library:
        book = await chosen_book(library, book_id, ask=not as_json)
        query = SearchQuery(**fields, book_id=book.book_id)
        found = await library.search(query)
        response = SearchResponse.of(query, found.passages, found.total, found.milliseconds)
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

    from bythebook.models.passage import path_of

    place = passage.metadata
    console = out()
    path = escape(" › ".join(path_of(place)))
    console.print(f"[bold]{rank}. {path}[/bold]  [cyan]{passage.score:.2f}[/cyan]")
    console.print(f"   [dim]{escape(place.source_file)}[/dim]", soft_wrap=True)
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
