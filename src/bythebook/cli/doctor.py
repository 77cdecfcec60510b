"""`bythebook doctor`: does everything work, from the settings to a search, and what if not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.output import out, print_json
from bythebook.errors import BookError, StoreError

if TYPE_CHECKING:
    from bythebook.library import Library


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    message: str
    action: str = ""


@dataclass
class Report:
    checks: list[Check] = field(default_factory=list)

    async def check(self, name: str, look: Callable[[], Awaitable[str]]) -> bool:
        try:
            self.checks.append(Check(name, True, await look()))
        except BookError as problem:
            self.checks.append(Check(name, False, problem.message, problem.action))
        return self.checks[-1].ok


def command(
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Rebuild a damaged embedded index from what is readable."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check settings, data folder, database, embedder, index and every book."""
    report = asyncio.run(examine(repair))
    if json:
        print_json([asdict(check) for check in report.checks])
    else:
        for check in report.checks:
            mark = "[green]ok[/green]    " if check.ok else "[red]failed[/red]"
            out().print(f"{mark}  {check.name}: {check.message}", style="" if check.ok else "bold")
            if check.action:
                out().print(f"        {check.action}")
    if not all(check.ok for check in report.checks):
        raise typer.Exit(1)


async def examine(repair: bool = False) -> Report:
    from bythebook.library import Library
    from bythebook.settings import load_settings

    report = Report()
    opened: list[Library] = []

    async def settings() -> str:
        loaded = load_settings()
        where = loaded.qdrant_url or "the embedded index"
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

    working = await report.check("embedder", embedder)
    if repair:
        await report.check("repair", rebuilt)
    if not await report.check("index", index):
        return
    for book in await library.books():

        async def complete(book_id: str = book.book_id) -> str:
            return await _examine_book(library, book_id, search=working)

        await report.check(f"book {book.book_id}", complete)


async def _examine_book(library: Library, book_id: str, search: bool) -> str:
    from bythebook.ingestion.points import book_filter
    from bythebook.models.search import SearchQuery

    book = await library.book(book_id)
    indexed = await (await library.store()).count(book_filter(book_id))
    if indexed != book.total_chunks:
        raise StoreError(
            f"The index has {indexed} passages of it, and the database says {book.total_chunks}.",
            action=f"Run `bythebook ingest {book.source} --book {book_id} --mode full`.",
        )
    if search and indexed:
        query = SearchQuery(text=f"the {book.title}", book_id=book_id, hardware_tier_filter=4)
        found = await library.search(query)
        return f"{indexed} passages; a search for its title finds {found.passages[0].metadata.url}"
    return f"{indexed} passages"
