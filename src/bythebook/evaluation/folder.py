"""A folder of passages and questions: corpus.jsonl.gz, queries.jsonl.gz, qrels.tsv. Its passages
become a book, one page each, so that what is measured is what readers use."""

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
from typing import Any

from bythebook.errors import InputError
from bythebook.evaluation.question import Gold, Question
from bythebook.models.conversation import Turn
from bythebook.models.search import MIN_QUERY
from bythebook.models.text import MAX_QUESTION
from bythebook.retrieval.labelled import CORPUS, QRELS, QUERIES

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
        digest = self._digest()
        if book.is_dir() and stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
            return
        stamp.unlink(missing_ok=True)
        if book.exists():
            shutil.rmtree(book)
        book.mkdir(parents=True)
        for passage in self.passages:
            page = self.page_of[passage["_id"]]
            title = passage.get("title") or f"Passage {int(page[1:-3])}"
            (book / page).write_text(f"# {title}\n\n{passage['text']}\n", encoding="utf-8")
        stamp.write_text(digest, encoding="utf-8")

    def _digest(self) -> str:
        told = json.dumps([LAYOUT, self.passages], sort_keys=True)
        return hashlib.sha256(told.encode("utf-8")).hexdigest()


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
    questions = [_question(row, gold.get(row["_id"], ())) for row in rows if _can_be_asked(row)]
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


def _question(row: dict[str, Any], gold: tuple[Gold, ...]) -> Question:
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


def _can_be_asked(row: dict[str, Any]) -> bool:
    text = row["text"].strip()
    return len(text) >= MIN_QUERY and any(map(str.isalnum, text))


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
