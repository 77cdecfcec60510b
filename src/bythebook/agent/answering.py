"""One turn: somebody searches and writes, and only what is verified is shown."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Sequence

from bythebook.agent import prompts, repair
from bythebook.agent.events import Token, Writer
from bythebook.agent.extractive_writer import ExtractiveWriter
from bythebook.agent.turn import TurnState
from bythebook.agent.verified_stream import CheckedUnit, VerifiedStream, quotes_at
from bythebook.errors import ModelError
from bythebook.extractive.quotes import Quote
from bythebook.grounding.verifier import READER_LANGUAGE, Verifier
from bythebook.grounding.words import without_markers
from bythebook.language.detection import language_name
from bythebook.language.query_rewrite import without_selection
from bythebook.models.answer import Answer, NextStep, Status
from bythebook.models.conversation import Conversation
from bythebook.settings.agent import AgentConfig
from bythebook.tracing import span

logger = logging.getLogger(__name__)

# At this probability a text counts as answering.
ANSWERS = 0.5
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
    """`state` gathers what is found, the `VerifiedStream` what may be shown."""

    def __init__(self, state: TurnState, writer: Writer, config: AgentConfig) -> None:
        self._state = state
        self._writer = writer
        self._config = config
        asked = state.asked
        self._translates = asked.language is not None and not writer.quotes
        self._stream = VerifiedStream(
            state.passages,
            Verifier(state.library.reader, asked.book.language, asked.question),
            state.fair_turns,
            translated=self._translates,
        )
        self._cut = ""
        self._quoted = 0
        self._first_words_at: float | None = None

    async def answer(self, conversation: Conversation, status: Status) -> Answer:
        try:
            await self._writer.search_and_write(self._state, conversation, self._verify)
        except ModelError as problem:
            if not self._stream.text or self._config.model_down == "error":
                raise
            self._cut = problem.message
        if self._state.problem:
            raise self._state.problem
        with span("verify", since=self._first_words_at) as trace:
            await self._show(self._stream.finish(complete=not self._cut))
            if not self._cut:
                await self._repair()
                await self._quote_instead_of_failed(conversation)
            for shown in self._stream.conclude():
                self._state.emit(Token(shown))
            answer = self._conclude("fallback" if self._cut else status)
            trace.note(
                sentences=len(answer.sentences),
                removed=answer.removed,
                citations=len(answer.citations),
            )
        return answer

    async def _repair(self) -> None:
        """Give a quick model its failed sentences back, once. Where it fails, they are left out as
        if it had not been asked."""
        failed = [checked for checked in self._stream.failed if checked.nearest]
        failed = [checked for checked in failed if not self._is_silence(checked.unit)][
            : repair.MOST
        ]
        spent = asyncio.get_running_loop().time() - self._state.began
        if not failed or spent > repair.QUICK_SECONDS:
            return
        try:
            if self._config.judge == "model":
                await self._judge_unsure([checked for checked in failed if checked.unsure])
            waiting = self._stream.failed
            if self._config.repair:
                await self._have_restated([checked for checked in failed if checked in waiting])
        except ModelError as problem:
            logger.warning("Sentences were left out, not repaired: %s", problem)

    async def _judge_unsure(self, unsure: Sequence[CheckedUnit]) -> None:
        if unsure:
            state, language = self._state, self._state.asked.book.language
            request = repair.judge_request(unsure, state.passages, language)
            reply = await self._reply(repair.JUDGE, request, len(unsure))
            for checked in repair.approved(reply, unsure):
                self._stream.accept(checked)

    async def _have_restated(self, failed: Sequence[CheckedUnit]) -> None:
        if failed:
            state, language = self._state, self._state.asked.book.language
            request = repair.restate_request(failed, state.passages, language)
            reply = await self._reply(repair.RESTATE, request, len(failed))
            for checked, text in repair.restated(reply, failed):
                await self._stream.restate(checked, text)

    async def _reply(self, instructions: str, request: str, sentences: int) -> str:
        tokens = sentences * repair.TOKENS_EACH
        return await self._writer.reply(self._state, instructions, request, tokens)

    async def _quote_instead_of_failed(self, conversation: Conversation) -> None:
        """Where what holds of a model's words does not answer the question, the book's own words
        stand in for what does not hold: what the built-in answerer would quote, or the place where
        a failed sentence should stand, whichever the reader takes for the better answer. If
        the model said that it found nothing, nothing is quoted."""
        state, failed = self._state, self._stream.failed
        if self._writer.quotes or not state.may_write or await self._answers():
            return
        if not self._stream.verified_text and all(
            self._is_silence(checked.unit) for checked in failed
        ):
            return
        before = len(self._stream.sentences)
        self._stream.begin_paragraph()
        quotes = [await ExtractiveWriter(self._config).quotes_for(state, conversation)]
        quotes += [
            quotes_at(checked.nearest) for checked in failed[: repair.MOST] if checked.nearest
        ]
        likely = [await self._likely("\n\n".join(one.text for one in each)) for each in quotes]
        for quote in quotes[likely.index(max(likely))]:
            await self._verify(quote)
        self._stream.begin_paragraph()
        self._quoted = len(self._stream.sentences) - before

    async def _answers(self) -> bool:
        verified_text = without_markers(
            self._stream.verified_text.removeprefix(self._stream.opening)
        )
        return await self._likely(verified_text) >= ANSWERS

    async def _likely(self, text: str) -> float:
        """The probability that this text answers the question; where the reader can't tell, any
        text does."""
        reader, asked = self._state.library.reader, self._state.asked
        understood = asked.searched_first and asked.book.language.startswith(READER_LANGUAGE)
        if not text.strip() or reader is None or not understood:
            return float(bool(text.strip()))
        return (await reader.read(asked.query, text)).answers

    async def _verify(self, text: str | Quote) -> None:
        self._first_words_at = self._first_words_at or time.perf_counter()
        if self._state.is_doubtful:
            self._stream.opening = f"{prompts.LOW_CONFIDENCE}\n\n"
        if isinstance(text, Quote):
            if shown := self._stream.quote(text):
                self._state.emit(Token(shown))
        else:
            await self._show(self._stream.feed(text))

    async def _show(self, released: AsyncIterator[str]) -> None:
        async for text in released:
            self._state.emit(Token(text))

    def _conclude(self, status: Status) -> Answer:
        state, stream = self._state, self._stream
        refused = not stream.text
        removed = [unit for unit, _ in stream.removed if not self._is_silence(unit)]
        ending = ""
        next_step = self._next_step() if refused else None
        if refused:
            ending = self._refusal(next_step)
            status = "fallback"
            state.emit(Token(ending))
        state.move("response_generated")
        return Answer(
            question=state.asked.question,
            text=stream.text + ending,
            status=status,
            refused=refused,
            citations=stream.citations,
            sentences=tuple(stream.sentences),
            passages=tuple(state.passages),
            confidence=state.confidence,
            model=self._writer.name,
            tokens_used=state.tokens,
            tool_calls=tuple(state.calls),
            removed=len(removed),
            quoted=self._quoted,
            notes=tuple(self._notes(refused, len(removed))),
            next_step=next_step,
            nearest=state.nearest if refused else (),
        )

    def _is_silence(self, unit: str) -> bool:
        said = " ".join(unit.split()).casefold()
        return self._config.refusal.rstrip(".").casefold() in said or bool(SILENCE.match(said))

    def _next_step(self) -> NextStep | None:
        step = self._config.next_step(without_selection(self._state.asked.question)[0])
        return NextStep(text=step[0], url=step[1]) if step else None

    def _refusal(self, next_step: NextStep | None) -> str:
        queries = dict.fromkeys(call.query for call in self._state.calls if not call.error)
        searched = prompts.SEARCHED.format(
            book=self._state.asked.book.title,
            queries="; ".join(f"“{query}”" for query in queries),
        )
        refusal = f"{self._config.refusal.rstrip('.')}. {searched}"
        if next_step is None:
            return refusal
        label = re.sub(r"([\\\[\]`*_<>])", r"\\\1", next_step.text)
        return f"{refusal}\n\n[{label}]({next_step.url})"

    def _notes(self, refused: bool, removed: int) -> list[str]:
        asked = self._state.asked
        notes: list[str] = []
        if self._state.on_page and not refused:
            notes.append(prompts.ON_THIS_PAGE)
        if refused and max(call.total_chunks_found for call in self._state.calls) == 1:
            notes.append(prompts.ONE_PASSAGE)
        if refused and removed:
            notes.append(prompts.NOTHING_VERIFIED)
        elif self._quoted and not refused:
            notes.append(prompts.QUOTED_WHERE_IT_FAILS)
        elif removed:
            notes.append(prompts.removed_note(removed))
        if self._cut or (self._stream.unfinished and not refused):
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
