"""A question that was asked over HTTP, what became of it, and many of them counted."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bythebook.models.confidence import ConfidenceLevel
from bythebook.models.identity import Uuid4
from bythebook.models.moment import UtcDatetime

Outcome = Literal["answered", "refused", "failed"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# `down`: a reader said that the answer was bad; `low`: answered, but with little confidence.
Choice = Literal["answered", "refused", "failed", "down", "low"]
Rating = Literal["up", "down"]

MAX_REASON = 500

QUESTION: dict[str, Any] = {
    "answer_id": "0e7af4fc-402a-4ff6-b393-8d5ff9503a3a",
    "asked_at": "2026-11-15T09:17:55.412000Z",
    "book_id": "physical-ai-robotics",
    "question": "How do I bake bread?",
    "outcome": "refused",
    "confidence": 0.0,
    "confidence_level": "insufficient",
    "nearest": [
        {
            "title": "Grasping Objects › Closing the gripper",
            "url": "https://physical-ai.example/docs/grasping-objects#closing-the-gripper",
        }
    ],
    "model": "built-in (quotes the book)",
    "milliseconds": 41,
    "rating": "down",
    "reason": "I am hungry.",
}
USAGE: dict[str, Any] = {
    "days": [
        {"day": "2026-11-14", "questions": 0, "answered": 0, "refused": 0, "failed": 0},
        {"day": "2026-11-15", "questions": 12, "answered": 9, "refused": 2, "failed": 1},
    ],
    "totals": {"questions": 12, "answered": 9, "refused": 2, "failed": 1},
    "feedback": {"up": 4, "down": 1},
    "p50_ms": 180,
    "p95_ms": 420,
}


class SectionLink(BaseModel):
    """A section of a book and where to read it."""

    title: str
    url: str | None = Field(default=None, description="Null where it was noted without one.")


def _titled(section: Any) -> Any:
    """Questions that were noted before the links were have titles only."""
    return {"title": section} if isinstance(section, str) else section


class QuestionEntry(BaseModel):
    """A question and what became of it."""

    answer_id: Uuid4
    asked_at: UtcDatetime
    book_id: str
    question: str
    outcome: Outcome
    confidence: float | None = Field(default=None, ge=0, le=1, description="Null where it failed.")
    confidence_level: ConfidenceLevel | None = None
    nearest: list[Annotated[SectionLink, BeforeValidator(_titled)]] = Field(
        default_factory=list,
        description="Sections that an answer cites, or that came nearest where it was refused.",
    )
    model: str
    milliseconds: int = Field(ge=0, description="From the question to the end of the answer.")
    rating: Rating | None = None
    reason: str | None = None


class AskedQuestion(QuestionEntry):
    """The same as the database keeps it, with who asked."""

    key_id: str | None
    session_id: Uuid4


class QuestionList(BaseModel):
    """Questions, newest first."""

    model_config = ConfigDict(json_schema_extra={"example": {"items": [QUESTION], "next": None}})

    items: list[QuestionEntry]
    next: str | None = Field(description="To send as `before` for older ones; null at the end.")


class Counts(BaseModel):
    """Questions by what became of them."""

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

    model_config = ConfigDict(json_schema_extra={"example": USAGE})

    days: list[DayCounts]
    totals: Counts
    feedback: FeedbackCounts
    p50_ms: int | None = Field(description="Half of the questions took no longer; null with none.")
    p95_ms: int | None = Field(description="19 of 20 took no longer.")
