"""What readers say of answers."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from bythebook.errors import BookNotFound
from bythebook.models.asked_question import MAX_REASON, Rating
from bythebook.models.identity import Uuid4
from bythebook.server.access import Chatter, Serving
from bythebook.server.problems import keyed

router = APIRouter(tags=["chat"])


class Feedback(BaseModel):
    """Whether an answer was good, and why."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "example": {
                "answer_id": "0e7af4fc-402a-4ff6-b393-8d5ff9503a3a",
                "rating": "down",
                "reason": "It is about version 1.",
            }
        },
    )

    answer_id: Uuid4 = Field(description="The answer_id of a chat response.")
    rating: Rating
    reason: str | None = Field(default=None, max_length=MAX_REASON)


@router.post(
    "/feedback",
    summary="Say whether an answer was good",
    status_code=204,
    response_class=Response,
    responses=keyed(404),
)
async def feedback(service: Serving, caller: Chatter, given: Feedback) -> Response:
    """Said again, the last one counts. Only whoever asked can, with the same key."""
    reason = (given.reason or "").strip() or None
    if not await service.questions.rate(given.answer_id, caller.id, given.rating, reason):
        raise BookNotFound(
            f"There is no answer {given.answer_id}.",
            action="Send the answer_id of a chat response; old ones are forgotten.",
            details={"field": "answer_id"},
        )
    return Response(status_code=204)
