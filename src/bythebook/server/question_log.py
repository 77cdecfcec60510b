"""Noting what was asked and what became of it; no answer fails or waits long because of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from bythebook.errors import BookError
from bythebook.models.answer import MAX_NEAREST, Answer
from bythebook.models.asked_question import AskedQuestion, SectionLink
from bythebook.models.chunk import now
from bythebook.models.passage import Passage, label_of
from bythebook.models.values import new_id
from bythebook.questions import Questions

if TYPE_CHECKING:
    from bythebook.server.conversations import ConversationQuestion


logger = logging.getLogger(__name__)

# Seconds that an answer waits for its note.
TIMEOUT_SECONDS = 2.0


class QuestionLog:
    """Writes notes as long as questions are to be kept."""

    def __init__(self, questions: Questions) -> None:
        self.questions = questions
        self._tasks: set[asyncio.Task[None]] = set()

    async def answered(
        self,
        asked: ConversationQuestion,
        answer: Answer,
        seconds: float,
    ) -> str | None:
        """The id by which a reader may speak of the answer; None if it could not be noted, or if
        there was nothing to note: a greeting is no gap in the book."""
        if answer.small_talk:
            return None
        cited = [citation.passage for citation in answer.citations]
        noted = await self._note(
            asked,
            answer_id=answer.id,
            outcome="refused" if answer.refused else "answered",
            confidence=answer.confidence.average_similarity,
            confidence_level=answer.confidence.confidence_level,
            nearest=_sections(cited or answer.nearest),
            model=answer.model,
            milliseconds=round(seconds * 1000),
        )
        return answer.id if noted else None

    async def failed(
        self, asked: ConversationQuestion, error: BookError, model: str, seconds: float
    ) -> None:
        """What the service could not do; what the caller did wrong is not noted."""
        if error.http_status >= 500:
            await self._note(
                asked,
                answer_id=new_id(),
                outcome="failed",
                model=model,
                milliseconds=round(seconds * 1000),
            )

    async def retract(self, answer_id: str) -> None:
        """The session is gone, and with it all that is noted of it."""
        await self._try(self.questions.forget(answer_id))

    async def _note(self, asked: ConversationQuestion, **what: Any) -> bool:
        if not self.questions.are_kept:
            return False
        question = AskedQuestion(
            asked_at=now(),
            book_id=asked.book_id,
            key_id=asked.key_id,
            session_id=asked.request.session_id,
            question=asked.request.message,
            metadata=asked.metadata,
            **what,
        )
        return await self._try(self.questions.note(question))

    async def _try(self, work: Coroutine[Any, Any, None]) -> bool:
        """Not waited for any longer than that, not even until a database that hangs has noticed
        that nobody waits."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        await asyncio.wait({task}, timeout=TIMEOUT_SECONDS)
        if not task.done():
            task.cancel()
            logger.warning("The question could not be saved: it took too long")
            return False
        return task.exception() is None

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        match task.exception():
            case None:
                pass
            case BookError() as problem:
                logger.warning("The question could not be saved: %s", problem)
            case problem:
                logger.error("The question could not be saved", exc_info=problem)


def _sections(passages: Iterable[Passage]) -> list[SectionLink]:
    """Where passages stand, each place once."""
    found: dict[str, SectionLink] = {}
    for passage in passages:
        title = label_of(passage.metadata)
        found.setdefault(title, SectionLink(title=title, url=passage.metadata.url))
    return list(found.values())[:MAX_NEAREST]
