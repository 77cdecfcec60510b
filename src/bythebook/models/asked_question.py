"""A question that was asked over HTTP, what became of it, and the gaps that many of them show."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bythebook.models.examples import PIECES, example
from bythebook.models.passage import ConfidenceLevel
from bythebook.models.values import UtcDatetime, Uuid4

Outcome = Literal["answered", "refused", "failed"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# `down`: a reader said that the answer was bad; `low`: answered, but with little confidence.
Choice = Literal["answered", "refused", "failed", "down", "low"]
# Those that show what a book lacks.
GapChoice = Literal["refused", "low", "down"]
Rating = Literal["up", "down"]

MAX_REASON = 500


class SectionLink(BaseModel):
    """A section of a book and where to read it."""

    title: str
    url: str | None = Field(default=None, description="Null if it has none.")


def titled(section: Any) -> Any:
    """Questions that were noted before the links were have titles only."""
    return {"title": section} if isinstance(section, str) else section


class QuestionEntry(BaseModel):
    """A question and its outcome."""

    answer_id: Uuid4
    asked_at: UtcDatetime
    book_id: str
    question: str
    outcome: Outcome
    confidence: float | None = Field(default=None, ge=0, le=1, description="Null where it failed.")
    confidence_level: ConfidenceLevel | None = None
    nearest: list[Annotated[SectionLink, BeforeValidator(titled)]] = Field(
        default_factory=list,
        description="Sections that an answer cites, or the closest ones if it was refused.",
    )
    model: str
    milliseconds: int = Field(ge=0, description="From the question to the end of the answer.")
    rating: Rating | None = None
    reason: str | None = None
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="The metadata sent with the question."
    )


class AskedQuestion(QuestionEntry):
    """The same as the database keeps it, with who asked."""

    key_id: str | None
    session_id: Uuid4


class QuestionList(BaseModel):
    """Questions, newest first."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"items": [PIECES["question"]], "next": None}}
    )

    items: list[QuestionEntry]
    next: str | None = Field(description="Send it as `before` to get older ones; null at the end.")


class Counts(BaseModel):
    """Questions by outcome."""

    questions: int = 0
    answered: int = 0
    refused: int = 0
    failed: int = 0

    def add(self, outcome: Outcome, count: int) -> None:
        self.questions += count
        setattr(self, outcome, getattr(self, outcome) + count)


class DayCounts(Counts):
    """The questions of one day, in UTC."""

    day: date


class FeedbackCounts(BaseModel):
    """Answers by what readers said of them."""

    up: int = 0
    down: int = 0


class Usage(BaseModel):
    """What was asked on the last days, oldest first; days without a question too."""

    model_config = ConfigDict(json_schema_extra=example("usage"))

    days: list[DayCounts]
    totals: Counts
    feedback: FeedbackCounts
    p50_ms: int | None = Field(description="Median time; null without questions.")
    p95_ms: int | None = Field(description="95th percentile.")


MAX_WORDINGS = 10
MAX_REASONS = 10


class Gap(BaseModel):
    """Questions of one meaning that the book did not answer well."""

    question: str = Field(description="The wording that was asked most.")
    wordings: list[str] = Field(
        max_length=MAX_WORDINGS, description="Other wordings, most asked first."
    )
    different: int = Field(ge=1, description="How many wordings there are in all.")
    book_id: str
    asked: int = Field(ge=1, description="How often, in any wording.")
    sessions: int = Field(
        ge=1, description="In how many sessions; a question without one counts as one."
    )
    refused: int = Field(ge=0, description="How often it was refused.")
    low: int = Field(ge=0, description="How often it was answered with low confidence.")
    nearest: SectionLink | None = Field(
        description="The section that is closest to most of them, or that most answers cite."
    )
    up: int = Field(ge=0, description="Readers who found the answer good.")
    down: int = Field(ge=0, description="Readers who found it bad.")
    reasons: list[str] = Field(max_length=MAX_REASONS, description="What they said, newest first.")
    last_asked: UtcDatetime


class GapReport(BaseModel):
    """Gaps, most asked first."""

    model_config = ConfigDict(json_schema_extra=example("gaps"))

    days: int = Field(ge=0, description="How far back it looks; never beyond what is kept.")
    questions: int = Field(ge=0, description="Questions in that time that were chosen.")
    groups: int = Field(ge=0, description="How many gaps they make; `gaps` may hold fewer.")
    left_out: int = Field(ge=0, description="Older ones beyond what is grouped at a time.")
    gaps: list[Gap]


class CitedPage(BaseModel):
    """A page and how many answers cite it."""

    title: str
    url: str | None = None
    answers: int = Field(ge=1)


class Summary(BaseModel):
    """What was asked in some days, for somebody who looks once a week."""

    since: UtcDatetime
    until: UtcDatetime
    book_id: str | None = None
    questions: int = 0
    answered: int = Field(default=0, description="The uncertain included.")
    refused: int = 0
    failed: int = 0
    uncertain: int = Field(default=0, description="Answered with low confidence.")
    up: int = 0
    down: int = 0
    gaps: list[Gap] = Field(default_factory=list, description="The largest.")
    cited: list[CitedPage] = Field(default_factory=list, description="Pages most cited.")
