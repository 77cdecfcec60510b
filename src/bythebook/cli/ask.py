"""`bythebook ask`: one question, one answer by the book."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from bythebook.cli import filters
from bythebook.cli.output import input_error, print_json

if TYPE_CHECKING:
    from bythebook.models.chat import ChatRequest

OPTIONS = {
    **filters.OPTIONS,
    "message": "QUESTION",
    "top_k": "--top-k",
    "similarity_threshold": "--threshold",
    "book_id": "--book",
}
TopK = Annotated[int | None, typer.Option("--top-k", "-k", help="Passages to retrieve, 1 to 10.")]
Threshold = Annotated[
    float | None, typer.Option(help="Least score of a passage to answer from, 0 to 1.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Tell on stderr what happens, step by step.")
]


@filters.takes_filters
def command(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    *,
    book: filters.Book = None,
    top_k: TopK = None,
    threshold: Threshold = None,
    json: Annotated[bool, typer.Option("--json", help="Print the response as JSON.")] = False,
    verbose: Verbose = False,
    where: dict[str, Any],
) -> None:
    """Ask a book one question."""
    request = make_request("ask", question, book, top_k, threshold, where)
    asyncio.run(ask(request, json, verbose))


def make_request(
    command: str,
    message: str,
    book: str | None,
    top_k: int | None,
    threshold: float | None,
    where: dict[str, Any],
) -> ChatRequest:
    """A request as the API would take it, so that both refuse the same; what a person did not say
    is left to the settings."""
    from bythebook.models.chat import ChatRequest
    from bythebook.models.search import SearchFilters
    from bythebook.settings import load_settings

    settings = load_settings()
    try:
        return ChatRequest(
            message=message,
            book_id=book,
            top_k=settings.top_k if top_k is None else top_k,
            similarity_threshold=settings.score_threshold if threshold is None else threshold,
            filters=SearchFilters(**where),
        )
    except ValidationError as problem:
        raise input_error(problem, OPTIONS, command) from problem


def how(request: ChatRequest) -> dict[str, Any]:
    """The request's parameters under the assistant's names."""
    return {
        "book_id": request.book_id,
        "filters": request.filters,
        "top_k": request.top_k,
        "threshold": request.similarity_threshold,
    }


async def ask(request: ChatRequest, as_json: bool = False, verbose: bool = False) -> None:
    from bythebook.agent.assistant import Assistant
    from bythebook.cli.answers import show
    from bythebook.library import Library
    from bythebook.models.chat import ChatResponse

    async with await Library.open() as library, Assistant(library) as assistant:
        if as_json:
            answer = await assistant.ask(request.message, **how(request))
            print_json(ChatResponse.of(answer, request.session_id).model_dump(mode="json"))
        else:
            await show(assistant.stream(request.message, **how(request)), verbose)
