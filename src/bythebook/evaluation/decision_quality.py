"""How well a calibration tells answerable questions from others, on labelled questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from bythebook.errors import InputError
from bythebook.evaluation.dataset import (
    CORPUS,
    QRELS,
    QUERIES,
    can_be_asked,
    json_lines,
    page_names,
    write_pages,
)
from bythebook.evaluation.ranking_metrics import auroc, mean
from bythebook.index.sparse import terms
from bythebook.models.passage import level_of
from bythebook.models.search_messages import MIN_QUERY
from bythebook.retrieval.calibration import THRESHOLD, Calibration
from bythebook.retrieval.fitting import Example, Kind

# A follow-up of fewer words than this can't be understood without what was said before.
LEAST_FOLLOW_UP = 4
ANSWERABLE = {"ANSWERABLE": True, "PARTIAL": True, "UNANSWERABLE": False}
LONGEST = 2000


class LabelledQuestion(BaseModel):
    """A line of a question file; what else the line has is for other readers. A question that is
    not said to be uncovered is covered."""

    question: str = Field(min_length=MIN_QUERY, max_length=LONGEST)
    covered: bool = True
    kind: str | None = None
    source_file: str | None = Field(
        default=None, validation_alias=AliasChoices("source_file", "file")
    )
    also: list[str] = []

    @property
    def pages(self) -> set[str]:
        """Those that answer it, as far as is known."""
        return {*self.also, *([self.source_file] if self.source_file else [])}

    @property
    def off_topic(self) -> bool:
        return not self.covered and self.kind == "off-topic"


@dataclass(frozen=True)
class QuestionFolder:
    """A folder of passages and questions: `corpus.jsonl.gz`, `queries.jsonl.gz`, `qrels.tsv`."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @property
    def complete(self) -> bool:
        return all((self.path / file).is_file() for file in (CORPUS, QUERIES, QRELS))

    def questions(self) -> list[LabelledQuestion]:
        pages = page_names(json_lines(self.path / CORPUS, ("_id", "text")))
        right: dict[str, list[str]] = {}
        for line in (self.path / QRELS).read_text(encoding="utf-8").splitlines()[1:]:
            asked, passage, _ = line.split("\t")
            right.setdefault(asked, []).append(pages[passage])
        found = []
        for query in json_lines(self.path / QUERIES, ("_id", "text")):
            own = right.get(query["_id"], [])
            covered = _covered(query, bool(own))
            if covered is not None and _stands_alone(query):
                text = query["text"].strip()[:LONGEST]
                found.append(LabelledQuestion(question=text, covered=covered, also=own))
        return found

    def write_book(self, book: Path) -> None:
        """The passages as a book, one page each, unless it is already there."""
        if not book.exists():
            write_pages(book, json_lines(self.path / CORPUS, ("_id", "text")))


def read_questions(file: Path) -> list[LabelledQuestion]:
    """A file with one JSON object a line: `question`, and perhaps `covered` and `kind`."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"{file} can't be read.", action="Give a file of questions.") from problem
    return [_labelled(line, f"{file}:{n}") for n, line in enumerate(lines, 1) if line.strip()]


def _labelled(line: str, place: str) -> LabelledQuestion:
    try:
        return LabelledQuestion.model_validate_json(line)
    except ValidationError as problem:
        raise InputError(
            f"{place} is not a labelled question.",
            action='Write each line as {"question": "…", "covered": true}.',
        ) from problem


def _covered(query: dict[str, Any], has_passage: bool) -> bool | None:
    """What the folder says; None where even people could not tell."""
    if "answerable" in query:
        return bool(query["answerable"])
    if "answerability" in query:
        return ANSWERABLE.get(query["answerability"])
    return has_passage


def _stands_alone(query: dict[str, Any]) -> bool:
    long_enough = len(set(terms(query["text"], "en"))) >= LEAST_FOLLOW_UP
    return can_be_asked(query) and (long_enough or not query.get("history"))


BINS = 10


@dataclass(frozen=True)
class Quality:
    """Shares and areas from 0 to 1, None where no question can tell. `calibration_error` is the
    expected error in ten bins of the mean score, `shown_error` that of the confidence of answers,
    both as if covered questions and others were asked equally often; right is a covered question
    whose best passage answers it."""

    covered: int
    near: int
    off_topic: int
    auroc_near: float | None
    auroc_off_topic: float | None
    answered: float | None
    refused_near: float | None
    refused_off_topic: float | None
    balanced_accuracy: float | None
    calibration_error: float
    shown_error: float


def measure(
    examples: Sequence[Example],
    coverages: Sequence[float],
    weights: Sequence[float],
    calibration: Calibration,
) -> Quality:
    """What coverages are worth, shown as the calibration does; the levels decide at the default
    threshold."""
    asked = list(zip(examples, coverages, strict=True))
    of: dict[Kind, list[float]] = {"covered": [], "near": [], "off-topic": []}
    decided: dict[Kind, list[bool]] = {"covered": [], "near": [], "off-topic": []}
    means, shown = [], []
    for example, coverage in asked:
        given = calibration.scores(coverage, example.evidence.strengths)
        confidence = confidence_of(given)
        of[example.kind].append(coverage)
        decided[example.kind].append(confidence is not None)
        means.append(mean(given) or 0.0)
        shown.append(confidence)
    answered = mean(decided["covered"])
    near, off_topic = (_refused(decided[kind]) for kind in ("near", "off-topic"))
    refused = mean([share for share in (near, off_topic) if share is not None])
    right = [example.right for example in examples]
    answers = [index for index, confidence in enumerate(shown) if confidence is not None]
    return Quality(
        covered=len(of["covered"]),
        near=len(of["near"]),
        off_topic=len(of["off-topic"]),
        auroc_near=auroc(of["covered"], of["near"]),
        auroc_off_topic=auroc(of["covered"], of["off-topic"]),
        answered=answered,
        refused_near=near,
        refused_off_topic=off_topic,
        balanced_accuracy=(
            None if answered is None or refused is None else (answered + refused) / 2
        ),
        calibration_error=calibration_error(means, right, weights),
        shown_error=calibration_error(
            [shown[i] or 0.0 for i in answers],
            [right[i] for i in answers],
            [weights[i] for i in answers],
        ),
    )


def confidence_of(given: Sequence[float]) -> float | None:
    """The mean of the scores that pass the threshold; None where the levels refuse."""
    passing = [score for score in given if score >= THRESHOLD]
    if not passing:
        return None
    mean = sum(passing) / len(passing)
    return None if level_of(mean, len(passing)) == "insufficient" else mean


def calibration_error(
    said: Sequence[float], right: Sequence[bool], weights: Sequence[float]
) -> float:
    """The mean distance, over bins of what was said, between it and how often it was right."""
    total = sum(weights)
    if not total:
        return 0.0
    error = 0.0
    for number in range(BINS):
        inside = [i for i, value in enumerate(said) if min(int(value * BINS), BINS - 1) == number]
        error += abs(sum(weights[i] * (said[i] - right[i]) for i in inside))
    return error / total


def _refused(decided: Sequence[bool]) -> float | None:
    return mean([not answered for answered in decided])
