"""How a turn of a kept conversation ends well."""

from __future__ import annotations

from dataclasses import dataclass

from bythebook.agent.events import Done
from bythebook.models.passage import Passage


@dataclass(frozen=True)
class Kept(Done):
    """The answer is in its thread. `answer_id` names it for feedback, unless questions are not
    kept. `nearest` are passages near a question that was refused; they do not answer it."""

    answer_id: str | None = None
    nearest: tuple[Passage, ...] = ()
