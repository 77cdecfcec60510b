"""A whole evaluation: a folder of questions or a book, asked, and what became of it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bythebook.agent.assistant import Assistant
from bythebook.errors import InputError
from bythebook.evaluation.dataset import Folder, Question, read_folder, read_questions, sample
from bythebook.evaluation.figures import figures
from bythebook.evaluation.outcomes import Outcome, ask_all, check_places
from bythebook.evaluation.question_maker import (
    DEFAULT_QUESTIONS,
    make_questions,
    questions_of_lines,
)
from bythebook.library import Library
from bythebook.models.chunk import BookInfo
from bythebook.retrieval.calibration import FILE as CALIBRATION
from bythebook.retrieval.calibration import calibration_for
from bythebook.settings import Settings, load_settings

OFF_TOPIC = "off-topic"
OnStep = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Measured:
    """What was asked of which book, and what became of it; `titles` are those of pages that have a
    number for a name."""

    name: str
    book: BookInfo
    model: str
    outcomes: list[Outcome]
    off_topic: list[Outcome]
    titles: dict[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        about = {
            "set": self.name,
            "book_id": self.book.book_id,
            "passages": self.book.total_chunks,
            "embedder": self.book.embedding_model,
            "answerer": self.model,
        }
        return {**about, **figures(self.outcomes, self.off_topic)}


async def measure_folder(
    path: Path,
    limit: int | None = None,
    off_topic: Path | None = None,
    work: Path | None = None,
    on_step: OnStep = lambda _what, _done, _all: None,
) -> Measured:
    """Index a folder's passages as a book of their own and ask it the folder's questions."""
    folder = await asyncio.to_thread(read_folder, path)
    others = await _others(off_topic, limit)
    settings = load_settings()
    place = (work or settings.home / "eval") / folder.book_id
    async with await Library.open(_apart(settings, place)) as library:
        book = await _ingest(library, folder, place / "book", on_step)
        questions = sample(folder.questions, limit)
        measured = await _measure(library, book, folder.name, questions, others, on_step)
    return replace(measured, titles=folder.titles)


async def measure_book(
    book_id: str | None,
    file: Path | None = None,
    limit: int | None = None,
    off_topic: Path | None = None,
    on_step: OnStep = lambda _what, _done, _all: None,
) -> Measured:
    """Ask a book that is in the index the questions of a file, or questions made from itself."""
    questions = await asyncio.to_thread(read_questions, file) if file else None
    others = await _others(off_topic, limit)
    async with await Library.open() as library:
        book = await library.book(book_id)
        if questions is None:
            lines = await make_questions(library, book, limit or DEFAULT_QUESTIONS)
            questions = questions_of_lines(lines)
        else:
            questions = sample(questions, limit)
            await check_places(library, book.book_id, questions)
        name = file.name if file else f"starter questions of {book.title}"
        return await _measure(library, book, name, questions, others, on_step)


async def _measure(
    library: Library,
    book: BookInfo,
    name: str,
    questions: Sequence[Question],
    others: Sequence[Question],
    on_step: OnStep,
) -> Measured:
    def asking(done: int, all: int) -> None:
        on_step(f"Asking {book.book_id}", done, all)

    def asking_others(done: int, all: int) -> None:
        on_step("Asking off-topic questions", done, all)

    # Measured is who writes, not who stands in for a language model that is down.
    settings = library.settings.model_copy(update={"model_down": "error"})
    async with Assistant(library, settings) as assistant:
        outcomes = await ask_all(assistant, book, questions, asking)
        off_topic = await ask_all(assistant, book, others, asking_others)
        return Measured(name, book, assistant.model_name, outcomes, off_topic)


async def _others(path: Path | None, limit: int | None) -> list[Question]:
    """Another folder's covered questions, which this book should refuse."""
    if path is None:
        return []
    folder = await asyncio.to_thread(read_folder, path)
    covered = [one for one in folder.questions if one.covered]
    return [
        replace(one, covered=False, group=OFF_TOPIC, gold=(), answers=(), sentences=())
        for one in sample(covered, limit)
    ]


def _apart(settings: Settings, place: Path) -> Settings:
    """The person's settings with an index apart from the person's books; a calibration of one's
    own counts there too."""
    home = place / "home"
    own = settings.home / CALIBRATION
    try:
        home.mkdir(parents=True, exist_ok=True)
        if own.is_file():
            shutil.copyfile(own, home / CALIBRATION)
        else:
            (home / CALIBRATION).unlink(missing_ok=True)
    except OSError as problem:
        raise InputError(
            f"{home} can't be used: {problem.strerror}.",
            action="Name a folder you may write to with --work.",
        ) from problem
    calibration_for.cache_clear()
    return settings.model_copy(update={"home": home, "qdrant_url": None, "database_url": None})


async def _ingest(library: Library, folder: Folder, pages: Path, on_step: OnStep) -> BookInfo:
    """The folder's book, brought up to date: what did not change is not embedded again."""
    await asyncio.to_thread(folder.write_book, pages)
    fits = [book.embedding_model == library.embedder.name for book in await library.books()]
    await library.ingest(
        pages,
        book_id=folder.book_id,
        mode="incremental" if all(fits) else "recreate",
        on_progress=lambda job: on_step("Indexing", job.files_processed, job.files_to_process or 0),
    )
    return await library.book(folder.book_id)
