"""One turn with one model: search, decide, write, verify."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    MaxTurnsExceeded,
    ModelBehaviorError,
    ModelRefusalError,
    ModelSettings,
    RunConfig,
    Runner,
    ToolsToFinalOutputResult,
)

from bythebook.agent import prompts
from bythebook.agent.built_in import QuotingModel
from bythebook.agent.events import Token
from bythebook.agent.history import messages_of
from bythebook.agent.language_model import LanguageModel
from bythebook.agent.release import Releaser
from bythebook.agent.turn import MAX_SEARCHES, TurnState
from bythebook.errors import ModelError
from bythebook.language.detect import language_name
from bythebook.models.answer import Answer, Status
from bythebook.models.conversation import Conversation
from bythebook.models.tool import RetrievalTool
from bythebook.models.tool_response import ToolResponse
from bythebook.settings import Settings

# A model that calls tools that are not there, never stops calling, or declines to speak.
LOST = (MaxTurnsExceeded, ModelBehaviorError, ModelRefusalError)
# What models say in their own words when the results are silent. It is no claim about the book's
# subject, so there is nothing to verify, and the refusal sentence says it better.
SILENCE = re.compile(
    r"(?:i (?:do not|don't|could not|couldn't|cannot|can't) (?:have|find|see|answer)|"
    r"(?:unfortunately|sorry)|"
    r"(?:the|these|this) (?:book|text|passages?|results?|provided|given|search|retrieved)\b.{0,60}"
    r"\b(?:do(?:es)? not|doesn't|don't|no) )",
    re.IGNORECASE,
)


@cache
def _definition(name: str) -> dict[str, Any]:
    """Its schema takes longer to make than a search."""
    tool = RetrievalTool(name=name)
    return {
        "name": tool.name,
        "description": tool.description,
        "params_json_schema": tool.parameters.model_dump(exclude_none=True),
    }


class Answering:
    """The run of a turn; `state` gathers what is found, the releaser what may be shown."""

    def __init__(
        self, state: TurnState, model: LanguageModel | QuotingModel, settings: Settings
    ) -> None:
        self._state = state
        self._model = model
        self._settings = settings
        self._quotes = isinstance(model, QuotingModel)
        book, asked = state.asked.book, state.asked
        self._into = None  # the language to translate into, if the answer is to be a translation
        if asked.language and not self._quotes:
            self._into = language_name(asked.language)
        self._releaser = Releaser(
            state.passages, book.language, asked.question, translated=self._into is not None
        )
        self._wrote = self._between = False
        self._tokens = 0
        self._cut = False

    async def answer(self, conversation: Conversation, status: Status) -> Answer:
        items: list[Any] = [
            *messages_of(conversation.window(self._settings.history_turns)),
            {"role": "user", "content": self._state.asked.question},
        ]
        agent = self._agent(conversation.topic_summary)
        try:
            if self._quotes:
                await self._let_it_search(agent, items)
            else:
                async with self._state.looking_ahead():
                    await self._let_it_search(agent, items)
            if self._state.passages and not self._wrote and self._state.problem is None:
                await self._let_it_write(agent, items)
        except ModelError:
            if not self._releaser.text or self._settings.model_down == "error":
                raise
            self._cut = True
        if self._state.problem:
            raise self._state.problem
        self._show(self._releaser.finish(complete=not self._cut))
        return self._conclude("fallback" if self._cut else status)

    def _agent(self, summary: str) -> Agent[TurnState]:
        asked = self._state.asked
        tool = self._state.tool_name
        return Agent[TurnState](
            name="bythebook",
            instructions=prompts.instructions(
                tool=tool,
                refusal=self._settings.refusal,
                language=language_name(asked.book.language),
                question_language=self._into,
                summary=summary,
            ),
            model=self._model,
            model_settings=ModelSettings(
                temperature=0.0,
                tool_choice="required",
                max_tokens=self._settings.openai_max_tokens,
                include_usage=True,
            ),
            tools=[
                FunctionTool(
                    **_definition(tool),
                    on_invoke_tool=lambda _context, arguments: self._state.search(arguments),
                    strict_json_schema=False,
                )
            ],
            tool_use_behavior=lambda _context, _results: self._go_on_or_stop(),
        )

    def _go_on_or_stop(self) -> ToolsToFinalOutputResult:
        """Weak evidence ends the turn before the model may write. A call that could not be used as
        it was ends its run too: sent back to it, it makes some servers fail and small models
        refuse what the results answer. They are then put before it with a clean call."""
        state = self._state
        enough = state.searched and state.confidence.should_answer and state.problem is None
        return ToolsToFinalOutputResult(not enough or state.mended, final_output="")

    async def _let_it_search(self, agent: Agent[TurnState], items: list[Any]) -> None:
        with suppress(*LOST):  # what was found so far is put before it below
            await self._run(agent, items)
        if not self._state.searched and self._state.problem is None:
            await self._state.search(json.dumps({"query": self._state.asked.query}))

    async def _let_it_write(self, agent: Agent[TurnState], items: list[Any]) -> None:
        """For a model that did not search, or only searched: the results are put before it."""
        query = self._state.asked.query
        call = {
            "type": "function_call",
            "call_id": f"call_{uuid.uuid4().hex}",
            "name": self._state.tool_name,
            "arguments": json.dumps({"query": query}, ensure_ascii=False),
        }
        output = {
            "type": "function_call_output",
            "call_id": call["call_id"],
            "output": ToolResponse.of(self._state.passages, query).to_json(),
        }
        settings = agent.model_settings.resolve(ModelSettings(tool_choice="none"))
        with suppress(*LOST):  # then it wrote nothing that can be shown, which is a refusal
            await self._run(agent.clone(model_settings=settings), [*items, call, output])

    async def _run(self, agent: Agent[TurnState], items: list[Any]) -> None:
        result = Runner.run_streamed(
            agent,
            items,
            context=self._state,
            max_turns=MAX_SEARCHES + 2,
            run_config=RunConfig(tracing_disabled=True),
        )
        try:
            async for event in result.stream_events():
                if event.type == "raw_response_event":
                    self._take(event.data)
        finally:
            self._tokens += result.context_wrapper.usage.total_tokens

    def _take(self, event: Any) -> None:
        """Text counts only once something was retrieved that it can rest on."""
        if not self._state.passages:
            return
        if event.type == "response.completed":
            self._between = self._wrote
        elif event.type == "response.output_text.delta":
            apart = "\n\n" if self._between else ""  # what two replies say is not one sentence
            self._between = False
            self._wrote = self._wrote or bool(event.delta.strip())
            self._show(self._releaser.feed(apart + event.delta))

    def _show(self, released: Sequence[str]) -> None:
        for text in released:
            self._state.emit(Token(text))

    def _conclude(self, status: Status) -> Answer:
        state, releaser = self._state, self._releaser
        refused = not releaser.text
        removed = [unit for unit, _ in releaser.removed if not self._is_silence(unit)]
        ending = ""
        if refused:
            ending = self._refusal()
            status = "fallback"
        elif state.confidence.confidence_level == "low":
            ending = f"\n\n{prompts.LOW_CONFIDENCE}"
        if ending:
            self._show([ending])
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
            model=self._model.name,
            tokens_used=self._tokens,
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
            notes.append(prompts.CUT_SHORT)
        if asked.language is not None:
            translates = self._into is not None and not refused
            form = prompts.TRANSLATED if translates else prompts.OTHER_LANGUAGE
            notes.append(form.format(language=language_name(asked.book.language)))
        if self._quotes and not refused:
            down = self._settings.uses_language_model
            notes.append(prompts.MODEL_WAS_DOWN if down else prompts.QUOTED)
        return notes
