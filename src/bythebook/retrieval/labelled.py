"""Questions of which it is known whether a book answers them, and the books they were made for."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from bythebook.errors import InputError
from bythebook.index.sparse import terms
from bythebook.models.search import MIN_QUERY

CORPUS, QUERIES, QRELS = "corpus.jsonl.gz", "queries.jsonl.gz", "qrels.tsv"
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
        pages = {row["_id"]: _page(number) for number, row in enumerate(_lines(self.path / CORPUS))}
        right: dict[str, list[str]] = {}
        for line in (self.path / QRELS).read_text(encoding="utf-8").splitlines()[1:]:
            asked, passage, _ = line.split("\t")
            right.setdefault(asked, []).append(pages[passage])
        found = []
        for query in _lines(self.path / QUERIES):
            own = right.get(query["_id"], [])
            covered = _covered(query, bool(own))
            if covered is not None and _can_be_asked(query):
                text = query["text"].strip()[:LONGEST]
                found.append(LabelledQuestion(question=text, covered=covered, also=own))
        return found

    def write_book(self, book: Path) -> None:
        """The passages as a book, one page each, unless it is already there."""
        if book.exists():
            return
        book.mkdir(parents=True)
        for number, passage in enumerate(_lines(self.path / CORPUS)):
            title = passage.get("title") or f"Passage {number}"
            text = f"# {title}\n\n{passage['text']}\n"
            (book / _page(number)).write_text(text, encoding="utf-8")


def _page(number: int) -> str:
    return f"p{number:05}.md"


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


def _lines(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _covered(query: dict[str, Any], has_passage: bool) -> bool | None:
    """What the folder says; None where even people could not tell."""
    if "answerable" in query:
        return bool(query["answerable"])
    if "answerability" in query:
        return ANSWERABLE.get(query["answerability"])
    return has_passage


def _can_be_asked(query: dict[str, Any]) -> bool:
    text = query["text"].strip()
    if len(text) < MIN_QUERY or not any(map(str.isalnum, text)):
        return False
    return not query.get("history") or len(set(terms(text, "en"))) >= LEAST_FOLLOW_UP
