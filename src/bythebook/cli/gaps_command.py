"""`bythebook gaps`: what readers asked and the book did not say well."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bythebook.cli.terminal import async_command, err, open_library, out, print_json
from bythebook.errors import InputError
from bythebook.files import write_named
from bythebook.models.values import counted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bythebook.gaps import Gaps
    from bythebook.models.asked_question import Gap, GapReport


# As `GapChoice`, which every other command would have to load.
GapChoice = Literal["refused", "low", "down"]
STDOUT = Path("-")
DAYS = 30
SHOWN_WORDINGS = 3
SHOWN_REASONS = 3
KINDS = {
    None: "refused or answered with low confidence",
    "refused": "refused",
    "low": "answered with low confidence",
    "down": "rated down",
}


@async_command
async def gaps_command(
    book: Annotated[str | None, typer.Option("--book", help="Only questions of this book.")] = None,
    days: Annotated[
        int | None,
        typer.Option(min=1, max=366, help="How many days back: 30, or 7 for a summary."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, help="How many gaps, most asked first.")
    ] = 20,
    outcome: Annotated[
        GapChoice | None,
        typer.Option(
            help="Only questions that were refused, answered with low confidence, or rated down; "
            "the first two without it."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the gaps as JSON.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write CSV to this file; - is stdout.")] = None,
    summary: Annotated[
        bool,
        typer.Option("--summary", help="Print counts, the largest gaps and the pages most cited."),
    ] = False,
    mail: Annotated[
        Path | None, typer.Option(help="Write the summary to this file as an e-mail (.eml).")
    ] = None,
) -> None:
    """Show the questions the book does not answer.

    Those that it hardly answers are among them. Questions that mean the same are one gap.
    """
    if summary or mail is not None:
        if csv is not None or outcome is not None:
            raise InputError(
                "A summary has neither --csv nor --outcome.",
                action="Leave them out, or leave out --summary and --mail.",
                details={"field": "--summary"},
            )
        await _summary(book, days, json, mail)
        return
    if json and csv is not None:
        raise InputError(
            "--json and --csv can't be combined.",
            action="Leave out --json or --csv.",
            details={"field": "--csv"},
        )
    async with _opened(book) as (gaps, books):
        found = await gaps.find(days or DAYS, limit, books=books, choice=outcome)
    if json:
        print_json(found)
    elif csv is not None:
        _write(found, csv)
    else:
        _show(found, gaps.questions.are_kept, outcome)


async def _summary(book_id: str | None, days: int | None, as_json: bool, file: Path | None) -> None:
    from bythebook.gaps import SUMMARY_DAYS, as_mail, as_text, summarise

    async with _opened(book_id) as (gaps, books):
        found = await summarise(gaps, days or SUMMARY_DAYS, books=books)
    found.book_id = book_id
    if file is not None:
        _put(file, as_mail(found), "--mail")
        sys.stderr.write(f"Wrote the summary to {file}.\n")
    if as_json:
        print_json(found)
    elif not gaps.questions.are_kept:
        _say_not_kept()
    elif file is None:
        sys.stdout.write(as_text(found))


@asynccontextmanager
async def _opened(book_id: str | None) -> AsyncIterator[tuple[Gaps, tuple[str] | None]]:
    from bythebook.gaps import Gaps
    from bythebook.questions import Questions

    async with open_library() as library:
        if book_id is not None:
            await library.book(book_id)
        settings = library.settings
        questions = Questions(library.engine, settings.keep_questions_days)
        with err().status("Comparing questions …"):
            yield (
                Gaps(questions, threads=settings.embedding_threads),
                (book_id,) if book_id else None,
            )


def _put(file: Path, content: bytes, option: str) -> None:
    write_named(file, content, action=f"Give another file to {option}.", field=option)


def _write(found: GapReport, file: Path) -> None:
    from bythebook.gaps import as_csv

    text = as_csv(found.gaps)
    if file == STDOUT:
        sys.stdout.write(text.replace("\r\n", "\n"))
        return
    # The mark at the beginning tells Excel that it is UTF-8.
    _put(file, text.encode("utf-8-sig"), "--csv")
    sys.stderr.write(f"Wrote {counted(len(found.gaps), 'gap')} to {file}.\n")


def _say_not_kept() -> None:
    out().print(
        "Questions are not kept: BYTHEBOOK_KEEP_QUESTIONS_DAYS is 0. "
        "Set it to a number of days to see what your book lacks."
    )


def _show(found: GapReport, are_kept: bool, outcome: GapChoice | None) -> None:
    if not are_kept:
        _say_not_kept()
        return
    if not found.gaps:
        out().print(f"Nothing was {KINDS[outcome]} in {counted(found.days, 'day')}.")
        return
    from rich.table import Column, Table

    count = Column("asked", justify="right", no_wrap=True)
    table = Table(count, Column("question", overflow="fold"), box=None, padding=(0, 2, 1, 0))
    for gap in found.gaps:
        table.add_row(f"{gap.asked}×", "\n".join(_lines(gap)))
    out().print(table)
    more = f"; shown are {len(found.gaps)}, see --limit" if len(found.gaps) < found.groups else ""
    out().print(
        f"{counted(found.questions, 'question')} in {counted(found.days, 'day')}, "
        f"{counted(found.groups, 'gap')}{more}."
    )
    if found.left_out:
        out().print(f"The oldest {found.left_out} are left out; use fewer --days to see all.")


def _lines(gap: Gap) -> Iterator[str]:
    from rich.markup import escape

    yield f"[bold]{escape(gap.question)}[/bold]"
    further = gap.wordings[:SHOWN_WORDINGS]
    for wording in further:
        yield f"  also: {escape(wording)}"
    if rest := gap.different - 1 - len(further):
        yield f"  and {counted(rest, 'other wording')}"
    kinds = [(gap.refused, "refused"), (gap.low, "with low confidence")]
    facts = [f"{count:,} {kind}" for count, kind in kinds if count]
    facts += [f"in {counted(gap.sessions, 'session')}", f"last asked {gap.last_asked:%Y-%m-%d}"]
    yield f"[dim]{', '.join(facts)}; {escape(gap.book_id)}[/dim]"
    if thumbs := ", ".join(f"{n} {way}" for n, way in ((gap.up, "up"), (gap.down, "down")) if n):
        reasons = [f"“{escape(reason)}”" for reason in gap.reasons[:SHOWN_REASONS]]
        yield f"rated {thumbs}{': ' if reasons else ''}{' '.join(reasons)}"
    if gap.nearest is not None:
        yield f"nearest: {escape(gap.nearest.title)}"
        if gap.nearest.url:
            yield escape(gap.nearest.url)
