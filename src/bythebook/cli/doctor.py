"""`bythebook doctor`: does everything work, from the settings to an answer, and what if not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.terminal import async_command, out, print_json
from bythebook.errors import BookError, StoreError
from bythebook.models.values import counted, shown_address
from bythebook.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bythebook.agent.assistant import Assistant
    from bythebook.agent.events import Event
    from bythebook.library import Library
    from bythebook.models.service_health import DoctorReport
    from bythebook.server.platforms.chats import Platform


# Words that no book has, so that every book must refuse.
UNCOVERED = "How does the quuxwidget zorblify its frumious plimth?"
ONE_PASSAGE = "it has only one passage, and an answer must rest on at least two"
# A heading may say little; one of a few must lead to an answer.
ATTEMPTS = 5


async def examine_workflow(report: DoctorReport, library: Library, book_id: str) -> str | None:
    """With the built-in answerer, which costs nothing; returns a question that the book answers."""
    from bythebook.agent.assistant import Assistant

    quoting = library.settings.model_copy(update={"answerer": "built-in"})
    steps: dict[str, str] = {}

    async def seen(name: str) -> str:
        if name not in steps:
            raise StoreError(
                f"None of the questions that were made from headings of {book_id} got this far.",
                action=f"Ask the book yourself with `bythebook ask --book {book_id} -v …` and see "
                "what is found.",
            )
        return steps[name]

    async with Assistant(library, quoting) as assistant:
        asking = _ask_headings(assistant, library, book_id, steps)
        if await report.check("workflow: query", asking):
            for name in ("tool call", "context", "cited answer"):
                await report.check(f"workflow: {name}", seen(name))
            await report.check("workflow: refusal", _ask_uncovered(assistant, book_id))
    return steps.get("answered")


async def _ask_uncovered(assistant: Assistant, book_id: str) -> str:
    answer = await assistant.ask(UNCOVERED, book_id=book_id)
    if not answer.refused:
        raise BookError(
            "A question that no book covers was answered.",
            action="Please report this with the output of `bythebook ask -v`.",
        )
    return f"{UNCOVERED!r} is refused"


async def _ask_headings(
    assistant: Assistant, library: Library, book_id: str, steps: dict[str, str]
) -> str:
    """Ask for what a section says until an answer comes; what was seen on the way is kept."""
    asked = ""
    async for asked in _questions(library, book_id):
        async for event in assistant.stream(asked, book_id=book_id):
            _note(event, steps)
        if "cited answer" in steps:
            steps["answered"] = asked
            break
    return repr(asked)


async def _questions(library: Library, book_id: str) -> AsyncIterator[str]:
    """From the sections nearest to the title. Those may be a change log; then, what takes longer
    to find: the questions that the page suggests."""
    from bythebook.models.search_messages import SearchQuery
    from bythebook.suggestions import suggest

    book = await library.book(book_id)
    query = SearchQuery(
        text=f"the {book.title}", book_id=book_id, hardware_tier_filter=4, limit=ATTEMPTS
    )
    for passage in (await library.search(query)).passages:
        yield f"What does the book say about {' › '.join(passage.metadata.heading_path[-2:])}?"
    for suggestion in await suggest(library, book):
        yield suggestion


def _note(event: Event, steps: dict[str, str]) -> None:
    from bythebook.agent.events import Done, Failed, Retrieved, ToolCalled

    if isinstance(event, ToolCalled):
        steps["tool call"] = f"{event.name}({event.arguments['query']!r})"
    elif isinstance(event, Retrieved) and event.passages:
        level = event.confidence.confidence_level
        steps["context"] = f"{len(event.passages)} passages, confidence {level}"
    elif isinstance(event, Failed):
        raise event.error
    elif isinstance(event, Done) and not event.answer.refused:
        sentences = counted(len(event.answer.sentences), "sentence")
        first = event.answer.citations[0].passage.metadata.url
        steps["cited answer"] = f"{sentences}, [1] is {first}"


@async_command
async def doctor_command(
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Rebuild a damaged embedded index from what is readable."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check that everything works, and say what does not.

    It checks the settings, the database, the index, the models and every book.

    Each book is asked one question it should answer and one it should refuse. A configured
    language model is asked a real question, which costs three or four calls and takes at most six
    minutes. Each failure says what to do; a note is something that works but could be better.
    """
    report = await examine(repair)
    if json:
        print_json(report.checks)
    else:
        _print(report)
    if not all(check.ok for check in report.checks):
        raise typer.Exit(1)


def _print(report: DoctorReport) -> None:
    from rich.markup import escape  # a server's address or a heading may look like markup

    for check in report.checks:
        mark = "[red]failed[/red]" if not check.ok else "[green]ok[/green]    "
        if check.ok and check.action:
            mark = "[yellow]note[/yellow]  "
        line = escape(f"{check.name}: {check.message}")
        out().print(f"{mark}  {line}", style="" if check.ok else "bold")
        if check.action:
            out().print(f"        {escape(check.action)}")


async def examine(repair: bool = False) -> DoctorReport:
    from bythebook.library import Library
    from bythebook.models.service_health import DoctorReport

    report = DoctorReport()
    opened: list[Library] = []

    async def settings() -> str:
        loaded = load_settings()
        where = shown_address(loaded.qdrant_url or "the embedded index")
        return f"{loaded.embedder} embedder, {where}, data in {loaded.home}"

    async def database() -> str:
        opened.append(await Library.open())
        jobs = await opened[0].jobs(limit=1)
        return f"{len(await opened[0].books())} books, last job: " + (
            f"{jobs[0].status} ({jobs[0].book_id})" if jobs else "none yet"
        )

    usable = await report.check("settings", settings())
    try:
        if usable and await report.check("database", database()):
            await _examine_library(report, opened[0], repair)
    finally:
        for library in opened:
            await library.close()
    return report


async def _examine_library(report: DoctorReport, library: Library, repair: bool) -> None:
    async def embedder() -> str:
        vector = await library.embedder.embed_query("Does the embedder work?")
        return f"{library.embedder.name}, {len(vector)} numbers a passage"

    async def reader() -> str:
        from bythebook.reader.reader import WITHOUT, Reader

        if library.settings.reader == "off":
            return f"off. {WITHOUT}"
        async with Reader.open(library.settings) as opened:
            found = await opened.read("Does the reader work?", "Yes, the reader works.")
        return f"built-in, gives {found.answers:.2f} of a passage that answers"

    async def index() -> str:
        info = await library.index_info()
        if not info.healthy:
            raise StoreError(
                f"The index in {info.location} is damaged: {info.status}.",
                action="Run `bythebook doctor --repair`, then ingest the books again.",
            )
        return f"{info.engine}, {counted(info.points, 'passage')}"

    async def answerer() -> str:
        if library.settings.uses_language_model:
            return f"the language model {library.settings.openai_model}, tested below"
        return f"built-in, which quotes the book; {GUIDE} says how a language model writes instead"

    from bythebook.evaluation.examine_model import GUIDE, examine_model

    working = await report.check("embedder", embedder())
    await report.check("reader", reader())
    await report.check("answerer", answerer())
    await _examine_platforms(report, library)
    if repair:
        await report.check("repair", library.repair_index())
    asked: tuple[str, str] | None = None
    if await report.check("index", index()):
        asked = await _examine_books(report, library, working)
    if library.settings.uses_language_model:
        await examine_model(report, library, asked)


async def _examine_books(
    report: DoctorReport, library: Library, working: bool
) -> tuple[str, str] | None:
    """A book and a question that it answers, if there is one."""
    from bythebook.models.service_health import Check

    asked: tuple[str, str] | None = None
    for book in await library.books():
        whole = await report.check(f"book {book.book_id}", _examine_book(library, book.book_id))
        if book.total_chunks == 1:
            report.add(Check(f"book {book.book_id}", True, ONE_PASSAGE, "Add pages to the book."))
        elif whole and working and book.total_chunks:
            question = await examine_workflow(report, library, book.book_id)
            asked = asked or ((book.book_id, question) if question else None)
    return asked


async def _examine_platforms(report: DoctorReport, library: Library) -> None:
    """Those that are configured; whether they reach the service, only they know."""
    from bythebook.server.platforms.chats import NEEDS

    for platform, names in NEEDS.items():
        if any(getattr(library.settings, name) is not None for name in names):
            await report.check(platform, _examine_platform(library, platform))


async def _examine_platform(library: Library, platform: Platform) -> str:
    from bythebook.server.platforms.chats import books_asked, is_configured

    is_configured(library.settings, platform)
    books = books_asked(library.settings, platform)
    for book_id in books:
        await library.book(book_id)
    return f"configured, asks {', '.join(books) or 'the default book'}"


async def _examine_book(library: Library, book_id: str) -> str:
    from bythebook.index.store import book_filter

    book = await library.book(book_id)
    indexed = await (await library.store()).count(book_filter(book_id))
    if indexed != book.total_chunks:
        raise StoreError(
            f"The index has {indexed} passages of it, and the database says {book.total_chunks}.",
            action=f"Run `bythebook ingest --book {book_id} --mode full`.",
        )
    return counted(indexed, "passage")
