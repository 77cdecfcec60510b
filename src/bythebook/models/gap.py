"""What readers asked in one sense or another and the book did not say well."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from bythebook.models.asked_question import QUESTION, SectionLink
from bythebook.models.moment import UtcDatetime

MAX_WORDINGS = 10
MAX_REASONS = 10

GAPS: dict[str, Any] = {
    "days": 30,
    "questions": 9,
    "groups": 1,
    "left_out": 0,
    "gaps": [
        {
            "question": "How do I bake bread?",
            "wordings": ["baking a loaf of bread", "Is there a recipe for bread?"],
            "different": 3,
            "book_id": QUESTION["book_id"],
            "asked": 9,
            "sessions": 7,
            "refused": 8,
            "low": 1,
            "nearest": QUESTION["nearest"][0],
            "up": 0,
            "down": 2,
            "reasons": ["I am hungry."],
            "last_asked": QUESTION["asked_at"],
        }
    ],
}


class Gap(BaseModel):
    """Questions of one meaning that were refused, or answered with low confidence."""

    question: str = Field(description="The wording that was asked most.")
    wordings: list[str] = Field(
        max_length=MAX_WORDINGS, description="Further wordings, most asked first."
    )
    different: int = Field(ge=1, description="How many wordings there are in all.")
    book_id: str
    asked: int = Field(ge=1, description="How often, in any wording.")
    sessions: int = Field(
        ge=1, description="In how many sessions; a question without one counts as one."
    )
    refused: int = Field(ge=0, description="How often the book was found not to say it.")
    low: int = Field(ge=0, description="How often it was answered with low confidence.")
    nearest: SectionLink | None = Field(
        description="The section that most of them came nearest to, or that most answers cite."
    )
    up: int = Field(ge=0, description="Readers who found the answer good.")
    down: int = Field(ge=0, description="Readers who found it bad.")
    reasons: list[str] = Field(max_length=MAX_REASONS, description="What they said, newest first.")
    last_asked: UtcDatetime


class GapReport(BaseModel):
    """Gaps, most asked first."""

    model_config = ConfigDict(json_schema_extra={"example": GAPS})

    days: int = Field(ge=0, description="How far back it looks; never beyond what is kept.")
    questions: int = Field(ge=0, description="Refused and low-confidence questions in that time.")
    groups: int = Field(ge=0, description="How many gaps they make; `gaps` may hold fewer.")
    left_out: int = Field(ge=0, description="Older ones beyond what is grouped at a time.")
    gaps: list[Gap]
