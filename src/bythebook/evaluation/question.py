"""A question of which it is known whether, where and how the book answers it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError, field_validator

from bythebook.errors import InputError
from bythebook.language.pieces import pieces_of
from bythebook.models.conversation import Turn
from bythebook.models.passage import Passage
from bythebook.models.search import MIN_QUERY
from bythebook.models.text import MAX_QUESTION

ANCHOR = re.compile(r"\{#[^}]*\}\s*$")
Fact = tuple[str, ...]


@dataclass(frozen=True)
class Gold:
    """A place that answers: a page, or one section of it."""

    page: str
    section: str | None = None
    grade: int = 1

    @property
    def unit(self) -> str:
        return self.page if self.section is None else f"{self.page}#{same_heading(self.section)}"

    def holds(self, passage: Passage) -> bool:
        if passage.metadata.source_file != self.page:
            return False
        return self.section is None or same_heading(self.section) in headings_of(passage)


@dataclass(frozen=True)
class Question:
    """`covered` is None where people could not tell, or where the book answers only in part;
    `sentences` holds, for each annotator, the sentences that answer; `facts` what a right answer
    conveys, each by any of its alternatives."""

    id: str
    text: str
    covered: bool | None
    group: str
    gold: tuple[Gold, ...] = ()
    answers: tuple[str, ...] = ()
    sentences: tuple[tuple[str, ...], ...] = ()
    history: tuple[Turn, ...] = ()
    facts: tuple[Fact, ...] = ()

    @property
    def answered_at(self) -> tuple[Gold, ...]:
        """Where it is answered. A set may name a place for an uncovered question too, the one that
        looks as if it answered; that is none."""
        return () if self.covered is False else self.gold

    def is_gold(self, passage: Passage) -> bool:
        return any(gold.holds(passage) for gold in self.answered_at)

    def units(self, passages: Sequence[Passage]) -> list[str]:
        """What was found, each place once: gold ones by their own name, others by page, or by
        passage where a section is looked for."""
        by_page = all(gold.section is None for gold in self.gold)
        found: dict[str, None] = {}
        for passage in passages:
            other = passage.metadata.source_file if by_page else passage.id
            held = (gold.unit for gold in self.answered_at if gold.holds(passage))
            found[next(held, other)] = None
        return list(found)


def same_heading(heading: str) -> str:
    """Headings that differ in markup, case and punctuation only are the same."""
    return " ".join(re.findall(r"\w+", ANCHOR.sub("", heading).casefold()))


def headings_of(passage: Passage) -> set[str]:
    """Headings that a passage stands under or holds."""
    within = (
        passage.text[piece.start : piece.end]
        for piece in pieces_of(passage.text)
        if piece.kind == "heading"
    )
    return {same_heading(heading) for heading in (*passage.metadata.heading_path, *within)}


def sample(questions: Sequence[Question], limit: int | None) -> list[Question]:
    """So many of them, in their order: the same ones each time, and from all over the set."""
    if limit is None or limit >= len(questions):
        return list(questions)
    chosen = sorted(questions, key=lambda one: hashlib.sha256(one.id.encode("utf-8")).digest())
    kept = {one.id for one in chosen[:limit]}
    return [one for one in questions if one.id in kept]


class QuestionLine(BaseModel):
    """A line of a question file; what else it has is for other readers. A question that names no
    page is uncovered unless it says otherwise."""

    question: str = Field(min_length=MIN_QUERY, max_length=MAX_QUESTION)
    source_file: str | None = Field(
        default=None, validation_alias=AliasChoices("source_file", "file")
    )
    section: str | None = None
    also: list[str] = Field(default=[], description="Further pages that answer it.")
    covered: bool | None = None
    answer: str | None = None
    kind: str | None = None
    facts: list[Annotated[list[str], Field(min_length=1)]] = Field(
        default=[], description="What a right answer says: for each fact, ways to say it."
    )

    @field_validator("source_file", "section", "answer", "kind", mode="before")
    @classmethod
    def _nothing_is_none(cls, value: Any) -> Any:
        return value or None

    @property
    def is_covered(self) -> bool:
        return bool(self.source_file) if self.covered is None else self.covered


def read_questions(file: Path) -> list[Question]:
    """Questions on a book that is in the index, one JSON object a line."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(
            f"{file} can't be read.", action="Give a file of questions, one JSON object a line."
        ) from problem
    questions = [
        _question(line, f"{file}:{number}", str(number))
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not questions:
        raise InputError(f"There is no question in {file}.", action="Write one a line.")
    return questions


def _question(line: str, place: str, number: str) -> Question:
    try:
        given = QuestionLine.model_validate_json(line)
    except ValidationError as problem:
        first = problem.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{place} is not a question: {field + ': ' if field else ''}{first['msg']}.",
            action='Write each line as {"question": "…", "source_file": "…"}.',
        ) from problem
    gold: list[Gold] = []
    if given.source_file and given.is_covered:
        gold = [Gold(given.source_file, given.section), *(Gold(page) for page in given.also)]
    return Question(
        id=number,
        text=given.question,
        covered=given.is_covered,
        group=given.kind or ("covered" if given.is_covered else "uncovered"),
        gold=tuple(gold),
        answers=(given.answer,) if given.answer else (),
        facts=tuple(tuple(ways) for ways in given.facts) if given.is_covered else (),
    )
