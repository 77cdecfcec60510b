"""`bythebook ask`, `search` and `demo`, and the options by which they and `chat` choose a book."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from bythebook.cli.terminal import async_command, input_error, open_library, out, print_json
from bythebook.errors import InputError
from bythebook.index.sparse import terms
from bythebook.models.chunk import BookInfo

if TYPE_CHECKING:
    from bythebook.library import Library
    from bythebook.models.chat_messages import ChatRequest
    from bythebook.models.passage import Passage

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
# Fields of a request under the names a person gives them here.
FILTER_OPTIONS = {field: "--" + name.replace("_", "-") for name, field, _, _ in FILTERS}


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


ASK_OPTIONS = {
    **FILTER_OPTIONS,
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


@takes_filters
@async_command
async def ask_command(
    question: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="What you want to know; quotes or not.")
    ],
    *,
    book: Book = None,
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
    from bythebook.agent.assistant import Assistant
    from bythebook.cli.answer_view import show
    from bythebook.models.chat_messages import ChatResponse

    async with open_library() as library, Assistant(library) as assistant:
        chosen = await chosen_book(library, request.book_id, ask=not json)
        how = {**assistant_options(request), "book_id": chosen.book_id}
        if json:
            answer = await assistant.ask(request.message, **how)
            print_json(ChatResponse.of(answer, request.session_id))
        else:
            await show(assistant.stream(request.message, **how), verbose)


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
        raise input_error(problem, ASK_OPTIONS, command) from problem


def assistant_options(request: ChatRequest) -> dict[str, Any]:
    """The request's parameters under the assistant's names."""
    return {
        "book_id": request.book_id,
        "filters": request.filters,
        "top_k": request.top_k,
        "threshold": request.similarity_threshold,
    }


QUESTION = "When should I use an action instead of a service?"
UNCOVERED = "How do I bake sourdough bread?"


@async_command
async def demo_command(
    question: Annotated[str, typer.Argument(help="What to ask the sample book.")] = QUESTION,
) -> None:
    """Add the sample book and ask it two questions.

    The book answers one and not the other, unless you give a QUESTION of your own.
    """
    from bythebook.agent.assistant import Assistant
    from bythebook.cli.answer_view import show
    from bythebook.cli.book_commands import ingest
    from bythebook.library import sample_book

    job = await ingest(sample_book(), None, "incremental")
    async with open_library() as library, Assistant(library) as assistant:
        for asked in (question, UNCOVERED):
            sys.stdout.write(f"\n$ bythebook ask {asked!r} --book {job.book_id}\n\n")
            await show(assistant.stream(asked, book_id=job.book_id), verbose=False)


SEARCH_OPTIONS = {**FILTER_OPTIONS, "text": "TEXT", "limit": "--limit"}
WIDTH = 100
INDENT = "   "


@takes_filters
@async_command
async def search_command(
    text: Annotated[
        list[str],
        typer.Argument(metavar="TEXT", help="What to search for, at least 3 characters."),
    ],
    *,
    book: Book = None,
    limit: Annotated[int, typer.Option(help="Number of results, 1 to 20.")] = 5,
    context: Annotated[
        int, typer.Option(help="Neighbouring passages to show around each result.")
    ] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the response as JSON.")] = False,
    where: dict[str, Any],
) -> None:
    """Find the passages that fit a text best.

    The search compares meaning and words. All given filters must match. From a score of 0.7 on,
    the book seems to answer.
    """
    from bythebook.models.search_messages import SearchQuery, SearchResponse

    fields = {"text": " ".join(text), "limit": limit, **where}
    try:
        SearchQuery(**fields)  # what is wrong with the words needs no index to say
    except ValidationError as problem:
        raise input_error(problem, SEARCH_OPTIONS, "search") from problem
    async with open_library() as library:
        chosen = await chosen_book(library, book, ask=not json)
        query = SearchQuery(**fields, book_id=chosen.book_id)
        found = await library.search(query)
        if json:
            print_json(SearchResponse.of(query, found.passages, found.total, found.milliseconds))
            return
        if not found.passages:
            out().print("Nothing in the book matches these filters.")
        for rank, passage in enumerate(found.passages, 1):
            around = [passage]
            if context > 0:
                around = await library.context(chosen.book_id, passage.id, context, context)
            _show_passage(rank, passage, around, query.text, chosen.language)


def _show_passage(
    rank: int, passage: Passage, around: list[Passage], question: str, language: str
) -> None:
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
        shown = _snippet(passage.text, question, language)
    wrapper = TextWrapper(
        min(console.width, WIDTH), initial_indent=INDENT, subsequent_indent=INDENT
    )
    for line in shown.splitlines():
        console.print(escape(wrapper.fill(line)), soft_wrap=True)
    console.print()


SNIPPET_LINES = 4
SNIPPET_WIDTH = 400
HEADING = re.compile(r"^#{1,6}\s")


def _snippet(text: str, question: str, language: str) -> str:
    """A few lines around the best one; headings are already shown above it."""
    wanted = set(terms(question, language))
    lines = [line for line in text.splitlines() if line.strip() and not HEADING.match(line)]
    if not lines:
        return text
    hits = [len(wanted & set(terms(line, language))) for line in lines]
    scores = [sum(hits[i : i + SNIPPET_LINES]) + hits[i] for i in range(len(lines))]
    start = scores.index(max(scores))
    shown = "\n".join(lines[start : start + SNIPPET_LINES])
    if len(shown) <= SNIPPET_WIDTH:
        return shown
    return shown[:SNIPPET_WIDTH].rsplit(maxsplit=1)[0] + " …"
