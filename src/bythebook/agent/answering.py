"""One turn: somebody searches and writes, and only what is verified is shown."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Sequence

from bythebook.agent import prompts, repair
from bythebook.agent.events import Token
from bythebook.agent.release import Held, Releaser
from bythebook.agent.turn import TurnState
from bythebook.agent.writer import Writer
from bythebook.errors import ModelError
from bythebook.extractive.answer import Quote
from bythebook.grounding.verifier import Verifier
from bythebook.language.detect import language_name
from bythebook.models.answer import Answer, Status
from bythebook.models.conversation import Conversation
from bythebook.settings import Settings
from bythebook.tracing.spans import span

logger = logging.getLogger(__name__)

# What models say in their own words when the results are silent. It is no claim about the book's
# subject, so there is nothing to verify, and the refusal sentence says it better.
SILENCE = re.compile(
    r"(?:i (?:do not|don't|could not|couldn't|cannot|can't) (?:have|find|see|answer)|"
    r"(?:unfortunately|sorry)|"
    r"(?:the|these|this) (?:book|text|passages?|results?|provided|given|search|retrieved)\b.{0,60}"
    r"\b(?:do(?:es)? not|doesn't|don't|no) )",
    re.IGNORECASE,
)


class Answering:
    """`state` gathers what is found, the releaser what may be shown."""

    def __init__(self, state: TurnState, writer: Writer, settings: Settings) -> None:
        self._state = state
        self._writer = writer
        self._settings = settings
        asked = state.asked
        self._translates = asked.language is not None and not writer.quotes
        self._releaser = Releaser(
            state.passages,
            Verifier(state.library.reader, asked.book.language, asked.question),
            state.rounds,
            translated=self._translates,
            mends=settings.repair or settings.judge == "model",
        )
        self._cut = ""
        self._first_words_at: float | None = None

    async def answer(self, conversation: Conversation, status: Status) -> Answer:
        try:
            await self._writer.search_and_write(self._state, conversation, self._verify)
        except ModelError as problem:
            if not self._releaser.text or self._settings.model_down == "error":
                raise
            self._cut = problem.message
        if self._state.problem:
            raise self._state.problem
        with span("verify", since=self._first_words_at) as told:
            await self._show(self._releaser.finish(complete=not self._cut))
            if not self._cut:
                await self._mend()
            for shown in self._releaser.conclude():
                self._state.emit(Token(shown))
            answer = self._conclude("fallback" if self._cut else status)
            told.note(
                sentences=len(answer.sentences),
                removed=answer.removed,
                citations=len(answer.citations),
            )
        return answer

    async def _mend(self) -> None:
        """Give the model its failed sentences back, once, while at least half of the turn's time is
        left. Where it fails, they are left out as if it had not been asked."""
        failed = [held for held in self._releaser.failed if held.nearest]
        failed = [held for held in failed if not self._is_silence(held.unit)][: repair.MOST]
        spent = asyncio.get_running_loop().time() - self._state.began
        if not failed or spent > self._settings.turn_timeout / 2:
            return
        try:
            if self._settings.judge == "model":
                await self._judge_unsure([held for held in failed if held.unsure])
            waiting = self._releaser.failed
            if self._settings.repair:
                await self._restate([held for held in failed if held in waiting])
        except ModelError as problem:
            logger.warning("Sentences were left out, not mended: %s", problem)

    async def _judge_unsure(self, unsure: Sequence[Held]) -> None:
        if unsure:
            state, language = self._state, self._state.asked.book.language
            request = repair.judge_request(unsure, state.passages, language)
            reply = await self._writer.reply(state, repair.JUDGE, request)
            for held in repair.approved(reply, unsure):
                self._releaser.accept(held)

    async def _restate(self, failed: Sequence[Held]) -> None:
        if failed:
            state, language = self._state, self._state.asked.book.language
            request = repair.restate_request(failed, state.passages, language)
            reply = await self._writer.reply(state, repair.RESTATE, request)
            for held, text in repair.restated(reply, failed):
                await self._releaser.restate(held, text)

    async def _verify(self, text: str | Quote) -> None:
        self._first_words_at = self._first_words_at or time.perf_counter()
        if self._state.is_doubtful:
            self._releaser.opening = f"{prompts.LOW_CONFIDENCE}\n\n"
        if isinstance(text, Quote):
            if shown := self._releaser.quote(text):
                self._state.emit(Token(shown))
        else:
            await self._show(self._releaser.feed(text))

    async def _show(self, released: AsyncIterator[str]) -> None:
        async for text in released:
            self._state.emit(Token(text))

    def _conclude(self, status: Status) -> Answer:
        state, releaser = self._state, self._releaser
        refused = not releaser.text
        removed = [unit for unit, _ in releaser.removed if not self._is_silence(unit)]
        ending = ""
        if refused:
            ending = self._refusal()
            status = "fallback"
            state.emit(Token(ending))
        state.move("response_generated")
        return Answer(
            question=state.asked.question,
            text=releaser.text + ending,
            status=status,
            refused=refused,
            citations=releaser.citations,
            sentences=tuple(releaser.sentences),
            passages=tuple(state.passages),
            confidence=state.confidence,
            model=self._writer.name,
            tokens_used=state.tokens,
            tool_calls=tuple(state.calls),
            removed=len(removed),
            notes=tuple(self._notes(refused, len(removed), status)),
        )

    def _is_silence(self, unit: str) -> bool:
        said = " ".join(unit.split()).casefold()
        return self._settings.refusal.rstrip(".").casefold() in said or bool(SILENCE.match(said))

    def _refusal(self) -> str:
        queries = dict.fromkeys(call.query for call in self._state.calls if not call.error)
        searched = prompts.SEARCHED.format(
            book=self._state.asked.book.title,
            queries="; ".join(f"“{query}”" for query in queries or [self._state.asked.query]),
        )
        return f"{self._settings.refusal.rstrip('.')}. {searched}"

    def _notes(self, refused: bool, removed: int, status: Status) -> list[str]:
        asked = self._state.asked
        notes: list[str] = []
        if refused and removed:
            notes.append(prompts.NOTHING_VERIFIED)
        elif removed:
            notes.append(prompts.removed_note(removed))
        if self._cut or (self._releaser.unfinished and not refused):
            notes.append(prompts.CUT_SHORT.format(cause=self._cut or prompts.STOPPED))
        if asked.language is not None:
            translated = self._translates and not refused
            form = prompts.TRANSLATED if translated else prompts.OTHER_LANGUAGE
            notes.append(form.format(language=language_name(asked.book.language)))
        if problem := self._state.model_problem:
            form = prompts.SEARCHED_WITHOUT if refused else prompts.QUOTED_INSTEAD
            notes.append(form.format(cause=problem.message))
        elif self._writer.quotes and not refused:
            notes.append(prompts.QUOTED)
        return notes
