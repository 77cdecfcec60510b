"""`bythebook eval`: how far answers about a book can be trusted, in figures."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bythebook.cli.terminal import async_command, open_library, out, print_json, say, steps
from bythebook.errors import InputError
from bythebook.files import write_named
from bythebook.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bythebook.evaluation.charts import Card
    from bythebook.evaluation.measuring import Measured

COLOURS = {"good": "green", "poor": "yellow", "none": "dim"}


@async_command
async def eval_command(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="Folder with corpus.jsonl.gz, queries.jsonl.gz and qrels.tsv, or with --book a "
            "file of questions, each line "
            '{"question": …, "source_file": …, "section": …}.'
        ),
    ] = None,
    book: Annotated[
        str | None,
        typer.Option(help="Ask this book; without SOURCE, with questions made from its headings."),
    ] = None,
    grounding: Annotated[
        Path | None,
        typer.Option(help="Measure the check of sentences on this file (begin, mtrag_human_eval)."),
    ] = None,
    make_questions: Annotated[
        bool,
        typer.Option(
            "--make-questions",
            help="Write a starter question file for --book to SOURCE, or print it.",
        ),
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask only this many questions, the same each time.")
    ] = None,
    off_topic: Annotated[
        Path | None,
        typer.Option(help="Also ask the covered questions of this folder; all should be refused."),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(help="Folder for the index of SOURCE; kept for the next run."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write report.html with plots into this folder.")
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="With --json: list every question.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure how good the answers are.

    It counts how many questions are answered, cited and refused as they should be.

    With --book ID alone, bythebook makes the questions. With --book ID QUESTIONS.jsonl it asks
    yours, one JSON object a line: "question"; "source_file" and "also", the pages that answer;
    "section", "answer" and "kind"; "covered": false if the book should refuse; "facts", what a
    right answer says, each with ways to say it: [["port 3000", "`3000`"], ...]. With FOLDER it
    indexes passages and asks their questions.
    """
    if grounding is not None:
        _check_not_combined("--grounding", source=source, book=book, off_topic=off_topic)
        await _measure_grounding(grounding, limit, report, as_json=json)
    elif make_questions:
        _check_not_combined("--make-questions", off_topic=off_topic, report=report)
        await _write_questions(book, source, limit, as_json=json)
    elif source is None and book is None:
        raise InputError(
            "There is nothing to measure.",
            action="Give a folder of questions, or --book ID. See `bythebook eval --help`.",
        )
    else:
        from bythebook.evaluation.measuring import measure_book, measure_folder

        with steps() as on_step:
            if book is None and source is not None:
                measured = await measure_folder(source, limit, off_topic, work, on_step)
            else:
                measured = await measure_book(book, source, limit, off_topic, on_step)
        _print_result(measured, report, details, as_json=json)


def _check_not_combined(option: str, **others: object) -> None:
    for name, value in others.items():
        if value is not None:
            other = "SOURCE" if name == "source" else f"--{name.replace('_', '-')}"
            raise InputError(f"{option} and {other} can't be combined.", action="Leave one out.")


def _print_result(measured: Measured, report: Path | None, details: bool, as_json: bool) -> None:
    document = measured.document()
    if report is not None:
        from bythebook.evaluation.report import write_report

        say(f"Wrote {write_report(report, measured)}.")
    if as_json:
        if details:
            asked = (*measured.outcomes, *measured.off_topic)
            document["questions"] = [outcome.details() for outcome in asked]
        print_json(document)
    else:
        show(document)


async def _measure_grounding(
    file: Path, limit: int | None, report: Path | None, as_json: bool
) -> None:
    from bythebook.evaluation.sentence_check import check_figures, judge_file
    from bythebook.reader.reader import Reader

    settings = load_settings()
    opened = nullcontext() if settings.reader == "off" else Reader.open(settings)
    async with opened as reader:
        with steps() as on_step:
            judged = await judge_file(file, reader, limit, partial(on_step, "Checking"))
    document: dict[str, Any] = {"file": file.name, **check_figures(judged)}
    if report is not None:
        from bythebook.evaluation.report import write_check_report

        say(f"Wrote {write_check_report(report, document, judged)}.")
    if as_json:
        print_json(document)
    else:
        show_check(document)


async def _write_questions(
    book: str | None, to: Path | None, limit: int | None, as_json: bool
) -> None:
    from bythebook.evaluation.question_maker import DEFAULT_QUESTIONS, make_questions

    if to is not None and await asyncio.to_thread(to.exists):
        raise InputError(
            f"{to} is already there.", action="Name another file, or remove it if it is not needed."
        )
    async with open_library() as library:
        info = await library.book(book)
        with steps() as on_step:
            questions = await make_questions(
                library,
                info,
                limit or DEFAULT_QUESTIONS,
                on_step=partial(on_step, "Wording"),
                on_problem=say,
            )
    lines = [question.model_dump(exclude_defaults=True) for question in questions]
    text = "".join(dumps(line, ensure_ascii=False) + "\n" for line in lines)
    if as_json:
        print_json(lines)
    elif to is None:
        sys.stdout.write(text)
    else:
        write_named(to, text.encode("utf-8"), action="Name another file.")
        covered = sum(line["covered"] for line in lines)
        say(f"Wrote {covered} covered and {len(lines) - covered} uncovered questions to {to}.")
        say(f"Correct them by hand, then run `bythebook eval --book {info.book_id} {to}`.")


def show(document: dict[str, Any]) -> None:
    """The figures as a table, with what is required beside them."""
    from rich.markup import escape

    from bythebook.evaluation.charts import cards_of, lead

    out().print(f"[bold]{escape(document['set'])}[/bold]  {escape(lead(document))}\n")
    _show_cards(cards_of(document))


def show_check(document: dict[str, Any]) -> None:
    from bythebook.evaluation.charts import check_cards

    counts = document["counts"]
    out().print(f"{counts['faithful']} faithful answers, {counts['other']} others\n")
    _show_cards(check_cards(document))


def _show_cards(cards: Sequence[Card]) -> None:
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for card in cards:
        state = f"[{COLOURS[card.kind]}]{card.state}[/]" if card.state else ""
        table.add_row(card.value, card.name, state, f"[dim]{card.wish}[/]")
    out().print(table)
