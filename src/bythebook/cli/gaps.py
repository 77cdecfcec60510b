"""`bythebook gaps`: what readers asked and the book did not say well."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.output import err, out, print_json
from bythebook.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bythebook.models.gap import Gap, GapReport

STDOUT = Path("-")
SHOWN_WORDINGS = 3
SHOWN_REASONS = 3


def command(
    book: Annotated[str | None, typer.Option("--book", help="Only questions of this book.")] = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="How many days back.")] = 30,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, most asked first.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print the gaps as JSON.")] = False,
    csv: Annotated[
        Path | None, typer.Option(help="Write them as CSV to this file; - is stdout.")
    ] = None,
) -> None:
    """Show what was asked over the service and not answered, or hardly, grouped by meaning."""
    if json and csv is not None:
        raise InputError(
            "JSON and CSV can't be had at once.",
            action="Leave out --json or --csv.",
            details={"field": "--csv"},
        )
    asyncio.run(_gaps(book, days, limit, json, csv))


async def _gaps(
    book_id: str | None, days: int, limit: int, as_json: bool, file: Path | None
) -> None:
    from bythebook.gaps.finding import Gaps
    from bythebook.library import Library
    from bythebook.questions import Questions

    async with await Library.open() as library:
        if book_id is not None:
            await library.book(book_id)
        settings = library.settings
        questions = Questions(library.engine, settings.keep_questions_days)
        gaps = Gaps(questions, threads=settings.embedding_threads)
        with err().status("Comparing questions …"):
            found = await gaps.find(days, limit, books=None if book_id is None else (book_id,))
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif file is not None:
        _write(found, file)
    else:
        _show(found, questions.are_kept)


def _write(found: GapReport, file: Path) -> None:
    from bythebook.gaps.table import as_csv

    text = as_csv(found.gaps)
    if file == STDOUT:
        sys.stdout.write(text.replace("\r\n", "\n"))
        return
    try:
        # The mark at the beginning tells Excel that it is UTF-8.
        file.write_bytes(text.encode("utf-8-sig"))
    except OSError as problem:
        raise InputError(
            f"{file} can't be written: {problem.strerror or problem}.",
            action="Give another file to --csv.",
            details={"field": "--csv"},
        ) from problem
    sys.stderr.write(f"Wrote {_counted(len(found.gaps), 'gap')} to {file}.\n")


def _show(found: GapReport, are_kept: bool) -> None:
    if not are_kept:
        out().print(
            "Questions are not kept: BYTHEBOOK_KEEP_QUESTIONS_DAYS is 0. "
            "Set it to a number of days to learn what your book lacks."
        )
        return
    if not found.gaps:
        out().print(
            f"Nothing was refused or answered with low confidence in {_counted(found.days, 'day')}."
        )
        return
    from rich.table import Column, Table

    count = Column("asked", justify="right", no_wrap=True)
    table = Table(count, Column("question", overflow="fold"), box=None, padding=(0, 2, 1, 0))
    for gap in found.gaps:
        table.add_row(f"{gap.asked}×", "\n".join(_lines(gap)))
    out().print(table)
    more = f"; shown are {len(found.gaps)}, see --limit" if len(found.gaps) < found.groups else ""
    out().print(
        f"{_counted(found.questions, 'question')} in {_counted(found.days, 'day')}, "
        f"{_counted(found.groups, 'gap')}{more}."
    )
    if found.left_out:
        out().print(f"The oldest {found.left_out} are left out; fewer --days has all of them.")


def _lines(gap: Gap) -> Iterator[str]:
    from rich.markup import escape

    yield f"[bold]{escape(gap.question)}[/bold]"
    further = gap.wordings[:SHOWN_WORDINGS]
    for wording in further:
        yield f"  also: {escape(wording)}"
    if rest := gap.different - 1 - len(further):
        yield f"  and {_counted(rest, 'other wording')}"
    kinds = [(gap.refused, "refused"), (gap.low, "with low confidence")]
    facts = [f"{count:,} {kind}" for count, kind in kinds if count]
    facts += [f"in {_counted(gap.sessions, 'session')}", f"last asked {gap.last_asked:%Y-%m-%d}"]
    yield f"[dim]{', '.join(facts)}; {escape(gap.book_id)}[/dim]"
    if thumbs := ", ".join(f"{n} {way}" for n, way in ((gap.up, "up"), (gap.down, "down")) if n):
        reasons = [f"“{escape(reason)}”" for reason in gap.reasons[:SHOWN_REASONS]]
        yield f"rated {thumbs}{': ' if reasons else ''}{' '.join(reasons)}"
    if gap.nearest is not None:
        yield f"nearest: {escape(gap.nearest.title)}"
        if gap.nearest.url:
            yield escape(gap.nearest.url)


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
