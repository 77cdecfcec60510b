"""S4's assessment of a retrieval: how sure the book can answer, before anybody writes a word."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

ConfidenceLevel = Literal["high", "medium", "low", "insufficient"]

# Mean score and number of passages each level takes, best first.
LEVELS: tuple[tuple[ConfidenceLevel, float, int], ...] = (
    ("high", 0.85, 5),
    ("medium", 0.75, 3),
    ("low", 0.60, 2),
)
TOLERANCE = 1e-6


def level_of(average: float, passages: int) -> ConfidenceLevel:
    for level, least_average, least_passages in LEVELS:
        if average >= least_average and passages >= least_passages:
            return level
    return "insufficient"


class ConfidenceMetrics(BaseModel):
    """All on calibrated scores; level and decision follow from the others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    average_similarity: float = Field(ge=0, le=1)
    min_similarity: float = Field(ge=0, le=1)
    max_similarity: float = Field(ge=0, le=1)
    num_chunks: int = Field(ge=0)
    chunk_diversity: float = Field(ge=0, le=1)
    confidence_level: ConfidenceLevel
    should_answer: bool

    @model_validator(mode="after")
    def _follows_the_rules(self) -> Self:
        low, high = self.min_similarity - TOLERANCE, self.max_similarity + TOLERANCE
        if not low <= self.average_similarity <= high:
            raise ValueError("average_similarity is not between the least and the greatest")
        if self.confidence_level != level_of(self.average_similarity, self.num_chunks):
            raise ValueError("confidence_level does not follow from average and number of chunks")
        if self.should_answer != (self.confidence_level != "insufficient"):
            raise ValueError("should_answer does not follow from confidence_level")
        return self
