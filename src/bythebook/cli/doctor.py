"""`bythebook doctor`: does everything work, from the settings to an answer, and what if not."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.examine_model import GUIDE, examine_model
from bythebook.cli.output import out, print_json
from bythebook.cli.report import Report
from bythebook.cli.workflow import examine_workflow
from bythebook.errors import StoreError

if TYPE_CHECKING:
    from bythebook.library import Library
    from bythebook.server.platforms.question import Platform


def command(
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Rebuild a damaged embedded index from what is readable."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check everything: settings, index, a cited answer and a refusal for every book, the model."""
    report = asyncio.run(examine(repair))
    if json:
        print_json([asdict(check) for check in report.checks])
    else:
        _print(report)
    if not all(check.ok for check in report.checks):
        raise typer.Exit(1)


def _print(report: Report) -> None:
    from rich.markup import escape  # a server's address or a heading may look like markup

    for check in report.checks:
        mark = "[red]failed[/red]" if not check.ok else "[green]ok[/green]    "
        if check.ok and check.action:
            mark = "[yellow]note[/yellow]  "
        told = escape(f"{check.name}: {check.message}")
        out().print(f"{mark}  {told}", style="" if check.ok else "bold")
        if check.action:
            out().print(f"        {escape(check.action)}")


async def examine(repair: bool = False) -> Report:
    from bythebook.library import Library
    from bythebook.models.address import shown_address
    from bythebook.settings import load_settings

    report = Report()
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

    try:
        if await report.check("settings", settings) and await report.check("database", database):
            await _examine_library(report, opened[0], repair)
    finally:
        for library in opened:
            await library.close()
    return report


async def _examine_library(report: Report, library: Library, repair: bool) -> None:
    async def embedder() -> str:
        vector = await library.embedder.embed_query("Does the embedder work?")
        return f"{library.embedder.name}, {len(vector)} numbers a passage"

    async def reader() -> str:
        from bythebook.reader.reader import WITHOUT, Reader

        if library.settings.reader == "off":
            return f"off. {WITHOUT}"
        async with Reader.open(library.settings) as opened:
            found = await opened.read("Does the reader work?", "Yes, the reader works.")
        return f"built-in, says {found.answers:.2f} of a passage that answers"

    async def rebuilt() -> str:
        return await library.repair_index()

    async def index() -> str:
        info = await library.index_info()
        if not info.healthy:
            raise StoreError(
                f"The index in {info.location} is damaged: {info.status}.",
                action="Run `bythebook doctor --repair`, then ingest the books again.",
            )
        return f"{info.engine}, {info.points} passages"

    async def answerer() -> str:
        if library.settings.uses_language_model:
            return f"the language model {library.settings.openai_model}, examined below"
        return f"built-in, which quotes the book; {GUIDE} says how a language model writes instead"

    working = await report.check("embedder", embedder)
    await report.check("reader", reader)
    await report.check("answerer", answerer)
    await _examine_platforms(report, library)
    if repair:
        await report.check("repair", rebuilt)
    asked: tuple[str, str] | None = None
    if await report.check("index", index):
        asked = await _examine_books(report, library, working)
    if library.settings.uses_language_model:
        await examine_model(report, library, asked)


async def _examine_books(report: Report, library: Library, working: bool) -> tuple[str, str] | None:
    """A book and a question that it answers, if there is one."""
    asked: tuple[str, str] | None = None
    for book in await library.books():

        async def complete(book_id: str = book.book_id) -> str:
            return await _examine_book(library, book_id)

        whole = await report.check(f"book {book.book_id}", complete)
        if whole and working and book.total_chunks:
            question = await examine_workflow(report, library, book.book_id)
            asked = asked or ((book.book_id, question) if question else None)
    return asked


async def _examine_platforms(report: Report, library: Library) -> None:
    """Those that are configured; whether they reach the service, only they know."""
    from bythebook.server.platforms.connection import NEEDS, books_asked, is_configured

    for platform, (names, _) in NEEDS.items():

        async def connected(platform: Platform = platform) -> str:
            is_configured(library.settings, platform)
            books = books_asked(library.settings, platform)
            for book_id in books:
                await library.book(book_id)
            return f"configured, asks {', '.join(books) or 'the default book'}"

        if any(getattr(library.settings, name) is not None for name in names):
            await report.check(platform, connected)


async def _examine_book(library: Library, book_id: str) -> str:
    from bythebook.ingestion.points import book_filter

    book = await library.book(book_id)
    indexed = await (await library.store()).count(book_filter(book_id))
    if indexed != book.total_chunks:
        raise StoreError(
            f"The index has {indexed} passages of it, and the database says {book.total_chunks}.",
            action=f"Run `bythebook ingest --book {book_id} --mode full`.",
        )
    return f"{indexed} passages"
