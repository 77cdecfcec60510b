"""Options that several commands share: which book, and where in it to look."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bythebook.errors import InputError
from bythebook.models.chunk import BookInfo

if TYPE_CHECKING:
    from bythebook.library import Library

Book = Annotated[
    str | None, typer.Option("--book", help="Id of the book; not needed if there is only one.")
]

ALL_TIERS = 4
# Name of the option, field of the query, type and help.
FILTERS: tuple[tuple[str, str, Any, str], ...] = (
    ("tier", "hardware_tier_filter", int, "Courses: only this hardware tier or lower, 1 to 4."),
    (
        "module",
        "module_filter",
        str | None,
        "Courses: only this module. In other books: only this top folder.",
    ),
    ("chapter_min", "chapter_min", int | None, "Courses: from this chapter on."),
    ("chapter_max", "chapter_max", int | None, "Courses: up to this chapter."),
    ("lesson", "lesson_filter", int | None, "Courses: only lessons with this number."),
    (
        "level",
        "proficiency_levels",
        list[str] | None,
        "Courses: a proficiency level, A1 to C2; may be repeated.",
    ),
    ("layer", "layer_filter", str | None, "Courses: a teaching layer, L1 to L4."),
    ("parent", "parent_doc_id", str | None, "Only the page with this parent_doc_id."),
    ("prefix", "prefix", str | None, "Only pages whose path or address starts with this."),
)
# Fields of a query under the names a person gives them here.
OPTIONS = {field: "--" + name.replace("_", "-") for name, field, _, _ in FILTERS}


def takes_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the filter options; it gets them together, as the query's fields, in
    `where`."""
    own = inspect.signature(command, eval_str=True)
    parameters = [each for each in own.parameters.values() if each.name != "where"]
    parameters += [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=ALL_TIERS if name == "tier" else None,
            annotation=Annotated[kind, typer.Option(help=help)],
        )
        for name, _, kind, help in FILTERS
    ]

    @wraps(command)
    def with_filters(**given: Any) -> None:
        where = {field: given.pop(name) for name, field, _, _ in FILTERS}
        unset: tuple[Any, ...] = (None, [])
        command(**given, where={name: each for name, each in where.items() if each not in unset})

    with_filters.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_filters.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_filters


async def chosen_book(library: Library, book_id: str | None, *, ask: bool = True) -> BookInfo:
    """The named, the configured or the only book. Where that leaves several, a person at a terminal
    chooses; a script is told which there are."""
    if book_id is None and library.settings.book_id is None and ask and _is_person():
        known = await library.books()
        if len(known) > 1:
            return _choose(known)
    return await library.book(book_id)


def _is_person() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _choose(books: Sequence[BookInfo]) -> BookInfo:
    """By number or id. What is asked goes to stderr: stdout is for results."""
    sys.stderr.write("There are several books:\n")
    for number, book in enumerate(books, 1):
        sys.stderr.write(f"{number:3}. {book.title} ({book.book_id})\n")
    by_name = {str(number): book for number, book in enumerate(books, 1)}
    by_name |= {book.book_id: book for book in books}
    while True:
        sys.stderr.write(f"Which one? 1 to {len(books)}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line.strip():  # they left, or do not know
            raise InputError(
                "No book was chosen.", action="Name one with --book, or set BYTHEBOOK_BOOK."
            )
        if line.strip() in by_name:
            return by_name[line.strip()]
