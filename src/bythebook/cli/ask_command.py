"""`bythebook ask` and `bythebook demo`: one question, one answer by the book."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from bythebook.cli import book_options
from bythebook.cli.terminal import input_error, print_json

if TYPE_CHECKING:
    from bythebook.models.chat_messages import ChatRequest


OPTIONS = {
    **book_options.OPTIONS,
    "message": "QUESTION",
    "top_k": "--top-k",
    "similarity_threshold": "--threshold",
    "book_id": "--book",
}
TopK = Annotated[
    int | None,
    typer.Option("--top-k", "-k", help="Passages to retrieve, 1 to 10; default AGENT_TOP_K."),
]
Threshold = Annotated[
    float | None, typer.Option(help="Lowest score of a passage to answer from, 0 to 1.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Report each step on stderr.")]


@book_options.takes_filters
def ask_command(
    question: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="What you want to know; quotes or not.")
    ],
    *,
    book: book_options.Book = None,
    top_k: TopK = None,
    threshold: Threshold = None,
    json: Annotated[bool, typer.Option("--json", help="Print the response as JSON.")] = False,
    verbose: Verbose = False,
    where: dict[str, Any],
) -> None:
    """Ask a book one question.

    The exit status is 0 for an answer and for a refusal; `refused` in the JSON tells them apart.
    """
    request = make_request("ask", " ".join(question), book, top_k, threshold, where)
    asyncio.run(ask(request, json, verbose))


def make_request(
    ask_command: str,
    message: str,
    book: str | None,
    top_k: int | None,
    threshold: float | None,
    where: dict[str, Any],
) -> ChatRequest:
    """A request as the API would take it, so that both refuse the same; what a person did not say
    is left to the settings."""
    from bythebook.models.chat_messages import ChatRequest
    from bythebook.models.search_messages import SearchFilters

    try:
        return ChatRequest(
            message=message,
            book_id=book,
            top_k=top_k,
            similarity_threshold=threshold,
            filters=SearchFilters(**where),
        )
    except ValidationError as problem:
        raise input_error(problem, OPTIONS, ask_command) from problem


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
    from bythebook.cli.answer_view import show
    from bythebook.cli.book_options import chosen_book
    from bythebook.library import Library
    from bythebook.models.chat_messages import ChatResponse

    async with await Library.open() as library, Assistant(library) as assistant:
        book = await chosen_book(library, request.book_id, ask=not as_json)
        request = request.model_copy(update={"book_id": book.book_id})
        if as_json:
            answer = await assistant.ask(request.message, **how(request))
            print_json(ChatResponse.of(answer, request.session_id).model_dump(mode="json"))
        else:
            await show(assistant.stream(request.message, **how(request)), verbose)


QUESTION = "When should I use an action instead of a service?"
UNCOVERED = "How do I bake sourdough bread?"


def demo_command(
    question: Annotated[str, typer.Argument(help="What to ask the sample book.")] = QUESTION,
) -> None:
    """Add the sample book, ask it something it covers and something it does not."""
    asyncio.run(_demo(question))


async def _demo(question: str) -> None:
    from bythebook.agent.assistant import Assistant
    from bythebook.cli.answer_view import show
    from bythebook.cli.ingest_command import ingest
    from bythebook.library import Library, sample_book

    job = await ingest(sample_book(), None, "incremental")
    async with await Library.open() as library, Assistant(library) as assistant:
        for asked in (question, UNCOVERED):
            sys.stdout.write(f"\n$ bythebook ask {asked!r} --book {job.book_id}\n\n")
            await show(assistant.stream(asked, book_id=job.book_id), verbose=False)
