"""`bythebook calibrate`: fits how sure bythebook is to questions with known answers."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.terminal import async_command, open_library, out, print_json
from bythebook.errors import InputError
from bythebook.index.sparse import terms
from bythebook.settings import load_settings

if TYPE_CHECKING:
    from bythebook.evaluation.dataset import Folder, Question
    from bythebook.evaluation.metrics import Quality
    from bythebook.library import Library
    from bythebook.models.chunk import Background
    from bythebook.retrieval.calibration import Calibration
    from bythebook.retrieval.fitting import Example, Kind


# Questions of each other source that are asked as off-topic ones.
OFF_TOPIC = 60
# One or two words fit too many books to be off-topic anywhere.
LEAST_OFF_TOPIC = 3
# A follow-up of fewer words can't be understood without what was said before.
LEAST_FOLLOW_UP = 4
MEASURES = {
    "auroc_near": "AUROC, covered against near misses",
    "auroc_off_topic": "AUROC, covered against off-topic",
    "answered": "covered questions answered",
    "refused_near": "near misses refused",
    "refused_off_topic": "off-topic questions refused",
    "balanced_accuracy": "balanced accuracy",
    "calibration_error": "calibration error of the mean score",
    "shown_error": "calibration error of what is answered",
}


@dataclass
class LabelledSource:
    """A book, the library it is in, and the questions made for it."""

    book: str
    library: Library
    questions: list[Question]
    background: Background | None = None


@async_command
async def calibrate_command(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Folders with corpus.jsonl.gz, queries.jsonl.gz and qrels.tsv, or files of "
            "questions (FILE for the book of --book, or BOOK=FILE), each line "
            '{"question": …, "covered": true|false}.'
        ),
    ],
    book: Annotated[
        str | None, typer.Option(help="Book that the question files are about.")
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(help="NAME=NUMBER: how much a book's questions count, default 1."),
    ] = None,
    balance: Annotated[
        list[str] | None,
        typer.Option(help="Book on which both errors should be equally frequent; default all."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--out", help="Write the result here instead of the data folder.")
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(help="Folder for the index of question folders; kept for the next run."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print figures and fit as JSON.")] = False,
) -> None:
    """Fit when to answer and when to refuse.

    It learns from questions whose outcome you know: at least 10 covered and 10 uncovered ones;
    50 of each are better. It prints figures before and after, on questions held back, and saves
    the result in the data folder. Delete calibrations.json there to undo it. With several sources,
    covered questions of one are asked of the others too, where they should be refused.
    """
    from bythebook.evaluation.metrics import measure
    from bythebook.retrieval.calibration import FILE, calibration_for, write_calibration
    from bythebook.retrieval.fitting import example_weights, fit

    settings = load_settings()
    apart = settings.model_copy(
        update={
            "home": work or settings.home / "calibration",
            "qdrant_url": None,
            "database_url": None,
        }
    )
    weights = _weights(weight or [])
    folders, files = _sort(sources)
    labelled: dict[str, LabelledSource] = {}
    async with AsyncExitStack() as opened:
        library = await opened.enter_async_context(open_library(settings))
        if folders:
            passages = await opened.enter_async_context(open_library(apart))
            for folder in folders:
                labelled[folder.book_id] = await _indexed(folder, passages)
        for name, file in files:
            await _add_file(labelled, library, name or book, file)
        examples = await _ask(list(labelled.values()))
        before = calibration_for(library.embedder.name, settings.home)
    fitted = fit(examples, before, _described(examples), weights, balance or [])
    now = [example.coverage(before) for example in examples]
    shares = example_weights(examples, weights)

    def figures(coverages: Sequence[float], by: Calibration) -> dict[str, Quality]:
        measured = {"all": measure(examples, coverages, shares, by)} if len(labelled) > 1 else {}
        for name in labelled:
            own = [example.book == name for example in examples]
            measured[name] = measure(
                list(compress(examples, own)),
                list(compress(coverages, own)),
                list(compress(shares, own)),
                by,
            )
        return measured

    stages = {
        "before": figures(now, before),
        "after (held out)": figures(fitted.held_out, fitted.calibration),
    }
    file = to or settings.home / FILE
    write_calibration(file, fitted.calibration)
    if json:
        print_json({"figures": stages, "calibration": fitted.calibration, "saved": str(file)})
    else:
        _show(stages, fitted.calibration)
        sys.stderr.write(f"Saved in {file}.\n")


def _weights(given: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for entry in given:
        name, _, number = entry.partition("=")
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = -1.0
        if not found[name] > 0:
            raise InputError(f"{entry!r} is not a weight.", action="Write --weight NAME=NUMBER.")
    return found


def _sort(given: Sequence[str]) -> tuple[list[Folder], list[tuple[str | None, Path]]]:
    from bythebook.evaluation.dataset import read_folder

    folders: list[Folder] = []
    files: list[tuple[str | None, Path]] = []
    for entry in given:
        name, separator, rest = entry.partition("=")
        if Path(entry).is_dir():
            folders.append(read_folder(Path(entry)))
        elif separator and not Path(entry).exists():
            files.append((name, Path(rest)))
        else:
            files.append((None, Path(entry)))
    return folders, files


async def _indexed(folder: Folder, library: Library) -> LabelledSource:
    from bythebook.evaluation.measuring import ingest_folder

    pages = library.settings.home / "books" / folder.book_id / "book"
    sys.stderr.write(f"Indexing the passages of {folder.name}…\n")
    book = await ingest_folder(library, folder, pages)
    return LabelledSource(book.book_id, library, judged_questions(folder), book.background)


def judged_questions(folder: Folder) -> list[Question]:
    """Those of which people could tell whether they are covered, partly too, and that can be
    understood alone."""
    found = []
    for question in folder.questions:
        covered = question.group == "partial" or question.covered
        stands_alone = not question.history or _words(question.text) >= LEAST_FOLLOW_UP
        if covered is not None and stands_alone:
            found.append(replace(question, covered=covered))
    return found


def _words(text: str) -> int:
    return len(set(terms(text, "en")))


async def _add_file(
    sources: dict[str, LabelledSource], library: Library, book: str | None, file: Path
) -> None:
    from bythebook.evaluation.dataset import read_questions

    questions = read_questions(file, covered=True)
    if book in sources:
        sources[book].questions += questions
        return
    known = await library.book(book)
    new = LabelledSource(known.book_id, library, [], known.background)
    sources.setdefault(known.book_id, new).questions += questions


async def _ask(sources: Sequence[LabelledSource]) -> list[Example]:
    examples: list[Example] = []
    for source in sources:
        sys.stderr.write(f"Asking {source.book}…\n")
        for question in source.questions:
            kind: Kind = "covered" if question.covered else "near"
            if not question.covered and question.group == "off-topic":
                kind = "off-topic"
            pages = {gold.page for gold in question.answered_at}
            examples += await _asked(source, question.text, kind, pages)
        for other in sources:
            if other is not source:
                for text in _some_covered(other):
                    examples += await _asked(source, text, "off-topic")
    return examples


def _some_covered(source: LabelledSource) -> list[str]:
    texts = [
        question.text
        for question in source.questions
        if question.covered and _words(question.text) >= LEAST_OFF_TOPIC
    ]
    return texts[:: max(1, len(texts) // OFF_TOPIC)][:OFF_TOPIC]


async def _asked(
    source: LabelledSource, text: str, kind: Kind, pages: Collection[str] = ()
) -> list[Example]:
    from bythebook.models.search_messages import SearchQuery
    from bythebook.retrieval.fitting import Example

    query = SearchQuery(text=text, book_id=source.book, hardware_tier_filter=4)
    found = await source.library.search(query)
    if found.evidence is None:
        return []
    first = found.passages[0].metadata.source_file in pages if pages else None
    return [Example(source.book, text, kind, found.evidence, first, source.background)]


def _described(examples: Sequence[Example]) -> str:
    covered = sum(example.covered for example in examples)
    books = ", ".join(sorted({example.book for example in examples}))
    return f"{covered} covered and {len(examples) - covered} other questions of {books}"


def _show(stages: dict[str, dict[str, Quality]], calibration: Calibration) -> None:
    from rich.table import Table

    for name, quality in next(iter(stages.values())).items():
        counts = f"{quality.covered} covered, {quality.near} near, {quality.off_topic} off-topic"
        table = Table(f"{name}: {counts}", *stages, box=None)
        columns = [asdict(rows[name]) for rows in stages.values()]
        for measure, meaning in MEASURES.items():
            values = [column[measure] for column in columns]
            table.add_row(meaning, *("–" if v is None else f"{v:.3f}" for v in values))
        out().print(table, "")
    weights = ", ".join(f"{name} {weight}" for name, weight in calibration.weights.items())
    out().print(f"bias {calibration.bias}, slope {calibration.slope}, weights: {weights}")
