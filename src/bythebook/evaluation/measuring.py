"""A whole evaluation: a folder of questions or a book, asked, and the figures of what became of it.

docs/engineering/measurements.md says what each figure counts.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from bythebook.agent.assistant import Assistant
from bythebook.errors import InputError
from bythebook.evaluation.dataset import Folder, Question, read_folder, read_questions, sample
from bythebook.evaluation.metrics import (
    auroc,
    balanced_accuracy,
    brier,
    calibration_error,
    hit,
    mean,
    ndcg,
    percentile,
    recall,
    reciprocal_rank,
    rounded,
    rounded_mean,
)
from bythebook.evaluation.outcomes import FactCounts, Outcome, ask_all, check_places
from bythebook.evaluation.question_maker import DEFAULT_QUESTIONS, make_questions
from bythebook.library import Library
from bythebook.models.chunk import BookInfo
from bythebook.retrieval.calibration import FILE as CALIBRATION
from bythebook.retrieval.calibration import calibration_for
from bythebook.settings import Settings, load_settings

OFF_TOPIC = "off-topic"
OnStep = Callable[[str, int, int], None]


def unseen(_what: str, _done: int, _all: int) -> None:
    """Nobody watches."""


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
    on_step: OnStep = unseen,
) -> Measured:
    """Index a folder's passages as a book of their own and ask it the folder's questions."""
    folder = await asyncio.to_thread(read_folder, path)
    others = await _others(off_topic, limit)
    settings = load_settings()
    place = (work or settings.home / "eval") / folder.book_id
    async with await Library.open(_apart(settings, place)) as library:
        book = await ingest_folder(library, folder, place / "book", on_step)
        questions = sample(folder.questions, limit)
        measured = await _measure(library, book, folder.name, questions, others, on_step)
    return replace(measured, titles=folder.titles)


async def measure_book(
    book_id: str | None,
    file: Path | None = None,
    limit: int | None = None,
    off_topic: Path | None = None,
    on_step: OnStep = unseen,
) -> Measured:
    """Ask a book that is in the index the questions of a file, or questions made from itself."""
    questions = await asyncio.to_thread(read_questions, file) if file else None
    others = await _others(off_topic, limit)
    async with await Library.open() as library:
        book = await library.book(book_id)
        if questions is None:
            lines = await make_questions(library, book, limit or DEFAULT_QUESTIONS)
            questions = [line.as_question(str(number)) for number, line in enumerate(lines, 1)]
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
    asking = partial(on_step, f"Asking {book.book_id}")
    asking_others = partial(on_step, "Asking off-topic questions")
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


async def ingest_folder(
    library: Library, folder: Folder, pages: Path, on_step: OnStep = unseen
) -> BookInfo:
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


def figures(outcomes: Sequence[Outcome], off_topic: Sequence[Outcome] = ()) -> dict[str, Any]:
    """One document of plain numbers; None where no question can tell."""
    # Refusals are quick: questions of another subject would flatter.
    times = [one.milliseconds for one in outcomes if one.ending != "failed"]
    sentences = sum(one.sentences for one in outcomes)
    document: dict[str, Any] = {
        "counts": _counts(outcomes, off_topic),
        "retrieval": _retrieval(outcomes),
        "refusal": _refusal(outcomes),
        "answers": {
            "cited_right": rounded_mean(
                one.cited_right
                for one in outcomes
                if one.answered and one.question.covered and one.question.gold
            ),
            "gold_sentence_f1": rounded_mean(one.sentence_f1 for one in outcomes),
            "token_f1": rounded_mean(one.token_f1 for one in outcomes),
        },
        "facts": _facts([one.facts for one in outcomes if one.facts is not None]),
        "supported_sentences": _share(sum(one.supported for one in outcomes), sentences),
        "calibration": _calibration(outcomes),
        "latency_ms": {
            "p50": rounded(percentile(times, 0.5), 1),
            "p95": rounded(percentile(times, 0.95), 1),
        },
        "groups": {
            name: _group([one for one in outcomes if one.question.group == name])
            for name in sorted({one.question.group for one in outcomes})
        },
    }
    if off_topic:
        document["off_topic_refused"] = rounded_mean(one.refused for one in off_topic)
    return document


def _counts(outcomes: Sequence[Outcome], off_topic: Sequence[Outcome]) -> dict[str, int]:
    return {
        "questions": len(outcomes),
        "covered": sum(one.question.covered is True for one in outcomes),
        "uncovered": sum(one.question.covered is False for one in outcomes),
        "unclear": sum(one.question.covered is None for one in outcomes),
        "answered": sum(one.answered for one in outcomes),
        "refused": sum(one.refused for one in outcomes),
        "failed": sum(one.ending == "failed" for one in outcomes),
        "sentences": sum(one.sentences for one in outcomes),
        "off_topic": len(off_topic),
    }


def _retrieval(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    rows = [
        (one.ranked, {gold.unit: gold.grade for gold in one.question.answered_at})
        for one in outcomes
        if one.question.answered_at
    ]
    return {
        "questions": len(rows),
        "ndcg@10": rounded_mean(ndcg(*row) for row in rows),
        "recall@5": rounded_mean(recall(*row) for row in rows),
        "hit@5": rounded_mean(hit(*row) for row in rows),
        "mrr@10": rounded_mean(reciprocal_rank(*row) for row in rows),
    }


def coverages(outcomes: Sequence[Outcome], covered: bool) -> list[float]:
    return [one.coverage for one in outcomes if one.question.covered is covered]


def _refusal(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    answered = mean([one.answered for one in outcomes if one.question.covered is True])
    refused = mean([one.refused for one in outcomes if one.question.covered is False])
    return {
        "answered_of_covered": rounded(answered),
        "refused_of_uncovered": rounded(refused),
        "balanced_accuracy": rounded(balanced_accuracy(answered, refused)),
        "auroc": rounded(auroc(coverages(outcomes, True), coverages(outcomes, False))),
    }


def _facts(counted: Sequence[FactCounts]) -> dict[str, Any]:
    facts = sum(each.facts for each in counted)
    characters = sum(each.characters for each in counted)
    return {
        "questions": len(counted),
        "facts": facts,
        "by_answer": _share(sum(each.by_answer for each in counted), facts),
        "by_first_passage": _share(sum(each.by_first for each in counted), facts),
        "by_five_passages": _share(sum(each.by_five for each in counted), facts),
        "telling": _share(sum(each.telling for each in counted), characters),
    }


def judged(outcomes: Sequence[Outcome]) -> tuple[list[float], list[bool]]:
    """What each answer said of its confidence, and whether its best citation was gold."""
    given = [one for one in outcomes if one.judges_confidence]
    return [one.confidence for one in given], [one.best_is_gold for one in given]


def _calibration(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    said, right = judged(outcomes)
    return {
        "answers": len(said),
        "ece": rounded(calibration_error(said, right)),
        "brier": rounded(brier(said, right)),
        "mean_confidence": rounded_mean(said),
        "best_citation_gold": rounded_mean(right),
    }


def _group(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    placed = (one for one in outcomes if one.answered and one.question.answered_at)
    return {
        "questions": len(outcomes),
        "answered": sum(one.answered for one in outcomes),
        "refused": sum(one.refused for one in outcomes),
        "ndcg@10": _retrieval(outcomes)["ndcg@10"],
        "cited_right": rounded_mean(one.cited_right for one in placed),
    }


def _share(some: int, all: int) -> float | None:
    return rounded(some / all) if all else None
