"""Options that several commands share: which book, and where in it to look."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

Book = Annotated[str | None, typer.Option("--book", help="Id of the book.")]

ALL_TIERS = 4
# Name of the option, field of the query, type and help.
FILTERS: tuple[tuple[str, str, Any, str], ...] = (
    ("tier", "hardware_tier_filter", int, "Only passages of this hardware tier or lower."),
    ("module", "module_filter", str | None, "Only this module."),
    ("chapter_min", "chapter_min", int | None, "From this chapter on."),
    ("chapter_max", "chapter_max", int | None, "Up to this chapter."),
    ("lesson", "lesson_filter", int | None, "Only lessons of this number."),
    (
        "level",
        "proficiency_levels",
        list[str] | None,
        "A proficiency level, A1 to C2; may be repeated.",
    ),
    ("layer", "layer_filter", str | None, "A teaching layer, L1 to L4."),
    ("parent", "parent_doc_id", str | None, "Only the lesson with this id."),
    ("prefix", "prefix", str | None, "Only pages whose path or address begins so."),
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
