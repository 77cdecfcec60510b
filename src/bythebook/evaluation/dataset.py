"""Questions with known answers: whether, where and how a book answers them; folders of them."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError, field_validator

from bythebook.errors import InputError
from bythebook.language.segmentation import pieces_of
from bythebook.models.conversation import Turn
from bythebook.models.passage import Passage
from bythebook.models.search_messages import MIN_QUERY, has_words
from bythebook.models.values import MAX_QUESTION

CORPUS, QUERIES, QRELS = "corpus.jsonl.gz", "queries.jsonl.gz", "qrels.tsv"
ANCHOR = re.compile(r"\{#[^{}]*+\}\s*+$")
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

    def matches(self, passage: Passage) -> bool:
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
        return any(gold.matches(passage) for gold in self.answered_at)

    def units(self, passages: Sequence[Passage]) -> list[str]:
        """What was found, each place once: gold ones by their own name, others by page, or by
        passage where a section is looked for."""
        by_page = all(gold.section is None for gold in self.gold)
        found: dict[str, None] = {}
        for passage in passages:
            other = passage.metadata.source_file if by_page else passage.id
            held = (gold.unit for gold in self.answered_at if gold.matches(passage))
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
    """A line of a question file; what else it has is for other readers."""

    question: str = Field(min_length=MIN_QUERY, max_length=MAX_QUESTION)
    covered: bool | None = None
    source_file: str | None = Field(
        default=None, validation_alias=AliasChoices("source_file", "file")
    )
    section: str | None = None
    also: list[str] = Field(default=[], description="Further pages that answer it.")
    answer: str | None = None
    kind: str | None = None
    facts: list[Annotated[list[str], Field(min_length=1)]] = Field(
        default=[], description="What a right answer says: for each fact, ways to say it."
    )

    @field_validator("source_file", "section", "answer", "kind", mode="before")
    @classmethod
    def _nothing_is_none(cls, value: Any) -> Any:
        return value or None

    def as_question(self, id: str, *, covered: bool = False) -> Question:
        """`covered` says what a question is that neither says so nor names a page."""
        is_covered = covered or bool(self.source_file) if self.covered is None else self.covered
        gold: list[Gold] = []
        if self.source_file and is_covered:
            gold = [Gold(self.source_file, self.section), *(Gold(page) for page in self.also)]
        return Question(
            id=id,
            text=self.question,
            covered=is_covered,
            group=self.kind or ("covered" if is_covered else "uncovered"),
            gold=tuple(gold),
            answers=(self.answer,) if self.answer else (),
            facts=tuple(tuple(ways) for ways in self.facts) if is_covered else (),
        )


def read_questions(file: Path, *, covered: bool = False) -> list[Question]:
    """Questions on a book that is in the index, one JSON object a line."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(
            f"{file} can't be read.", action="Give a file of questions, one JSON object a line."
        ) from problem
    questions = [
        _line(line, f"{file}:{number}").as_question(str(number), covered=covered)
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not questions:
        raise InputError(f"There is no question in {file}.", action="Write one a line.")
    return questions


def _line(line: str, place: str) -> QuestionLine:
    try:
        return QuestionLine.model_validate_json(line)
    except ValidationError as problem:
        first = problem.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{place} is not a question: {field + ': ' if field else ''}{first['msg']}.",
            action='Write each line as {"question": "…", "source_file": "…"}.',
        ) from problem


# Raised when the same corpus would be written as other pages.
SCORE = re.compile(r"[0-9]{1,4}")
LAYOUT = "1"
COVERED = {"answerable": True, "unanswerable": False}
# A given history names no sources, and the assistant takes an earlier answer without any for a
# refusal: this one names nothing.
UNNAMED_SOURCE = ("…",)


@dataclass(frozen=True)
class Folder:
    """`page_of` maps the id of each passage to the page that is written for it."""

    path: Path
    passages: list[dict[str, Any]]
    questions: list[Question]
    page_of: dict[str, str]

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @property
    def book_id(self) -> str:
        return re.sub(r"[^a-z0-9._-]+", "-", self.name.lower()).strip("-._")[:100] or "questions"

    @property
    def titles(self) -> dict[str, str]:
        return {self.page_of[row["_id"]]: str(row.get("title") or "") for row in self.passages}

    def write_book(self, book: Path) -> None:
        """The passages as pages below `book`, unless the same ones are there already."""
        stamp = book.parent / "corpus.sha256"
        content = json.dumps([LAYOUT, self.passages], sort_keys=True)
        digest = hashlib.sha256(content.encode("utf-8")).hexdigest()
        if book.is_dir() and stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
            return
        stamp.unlink(missing_ok=True)
        if book.exists():
            shutil.rmtree(book)
        book.mkdir(parents=True)
        for number, passage in enumerate(self.passages):
            title = passage.get("title") or f"Passage {number}"
            text = f"# {title}\n\n{passage['text']}\n"
            (book / self.page_of[passage["_id"]]).write_text(text, encoding="utf-8")
        stamp.write_text(digest, encoding="utf-8")


def read_folder(path: Path) -> Folder:
    if path.is_file():
        raise InputError(
            f"{path} is not a folder of questions.",
            action="If it is a file of questions, name the book they are about with --book.",
        )
    missing = [name for name in (CORPUS, QUERIES, QRELS) if not (path / name).is_file()]
    if missing:
        raise InputError(
            f"{path} is not a folder of questions: it has no {' and no '.join(missing)}.",
            action=f"Give one with {CORPUS}, {QUERIES} and {QRELS}.",
        )
    passages = json_lines(path / CORPUS, ("_id", "text"))
    page_of = {row["_id"]: f"p{number:05}.md" for number, row in enumerate(passages)}
    gold = _gold(path / QRELS, page_of)
    rows = json_lines(path / QUERIES, ("_id", "text"))
    questions = [
        _folder_question(row, gold.get(row["_id"], ()))
        for row in rows
        if _can_be_asked(row["text"].strip())
    ]
    if not questions:
        raise InputError(f"There is no question in {path / QUERIES}.")
    return Folder(path, passages, questions, page_of)


def json_lines(file: Path, fields: Sequence[str]) -> list[dict[str, Any]]:
    """The objects of a file, gzipped or not, each with these fields."""
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8") as lines:
            rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as problem:
        raise InputError(f"{file} can't be read: {problem}.") from problem
    return [_object(line, f"{file}:{number}", fields) for number, line in rows]


def _object(line: str, place: str, fields: Sequence[str]) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise InputError(
            f"{place} is not JSON: {problem}.", action="Write one JSON object a line."
        ) from problem
    if not isinstance(row, dict) or any(not isinstance(row.get(field), str) for field in fields):
        raise InputError(f"{place} is not an object with {' and '.join(map(repr, fields))}.")
    return row


def _gold(file: Path, page_of: dict[str, str]) -> dict[str, tuple[Gold, ...]]:
    found: dict[str, tuple[Gold, ...]] = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"{file} can't be read: {problem}.") from problem
    for number, line in enumerate(lines, 1):
        if number == 1 or not line.strip():  # the first names the columns
            continue
        cells = line.split("\t")
        if len(cells) != 3 or not SCORE.fullmatch(cells[2]) or cells[1] not in page_of:
            raise InputError(
                f"{file}:{number} is not query-id, corpus-id and score of a passage in {CORPUS}.",
                action="Write the three with tabs between.",
            )
        if int(cells[2]) > 0:
            place = Gold(page_of[cells[1]], grade=int(cells[2]))
            found[cells[0]] = (*found.get(cells[0], ()), place)
    return found


def _folder_question(row: dict[str, Any], gold: tuple[Gold, ...]) -> Question:
    covered, group = _covered(row, bool(gold))
    chosen = row.get("selected_sentences") or []
    return Question(
        id=row["_id"],
        text=row["text"].strip()[:MAX_QUESTION],
        covered=covered,
        group=group,
        gold=gold,
        answers=tuple(answer for answer in row.get("answers") or [] if answer),
        sentences=tuple(tuple(sentences) for sentences in chosen if sentences),
        history=tuple(turns_of(row.get("history") or [])),
    )


def _covered(row: dict[str, Any], has_gold: bool) -> tuple[bool | None, str]:
    """What the folder says; a partial answer is neither covered nor uncovered."""
    if "answerability" in row:
        group = str(row["answerability"]).lower()
        return COVERED.get(group), group
    covered = bool(row["answerable"]) if "answerable" in row else has_gold
    return covered, "answerable" if covered else "unanswerable"


def _can_be_asked(text: str) -> bool:
    return len(text) >= MIN_QUERY and has_words(text)


def turns_of(history: Sequence[dict[str, str]]) -> list[Turn]:
    """Each question of a history with what was answered to it."""
    turns: list[Turn] = []
    question: str | None = None
    for said in history:
        if said["role"] == "user":
            question = said["text"]
        elif question is not None:
            turns.append(Turn(question, said["text"], UNNAMED_SOURCE))
            question = None
    return turns
