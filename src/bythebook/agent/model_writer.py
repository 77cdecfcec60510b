"""A language model as a writer, run by the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, cast

from agents import (
    Agent,
    FunctionTool,
    MaxTurnsExceeded,
    ModelBehaviorError,
    ModelRefusalError,
    ModelSettings,
    RunConfig,
    Runner,
    StreamEvent,
    ToolsToFinalOutputResult,
)
from agents.run import CallModelData, ModelInputData

from bythebook.agent import prompts
from bythebook.agent.events import Write
from bythebook.agent.language_model import LanguageModel
from bythebook.agent.model_errors import out_of_time
from bythebook.agent.prompt_budget import fitted, token_budget
from bythebook.agent.prompts import TOPIC
from bythebook.agent.sanitize import Cleaning
from bythebook.agent.scheduling import OutOfTime, stream_before
from bythebook.agent.turn import MAX_SEARCHES, TurnState
from bythebook.extractive.quotes import Quote
from bythebook.grounding.instructions import is_instruction
from bythebook.language.detection import language_name
from bythebook.models.conversation import MAX_SUMMARY, Conversation, Turn
from bythebook.models.passage import shortened
from bythebook.models.retrieval_tool import RetrievalTool, ToolResponse
from bythebook.reader.reader import Reading
from bythebook.settings.agent import AgentConfig

# So much of each answer is kept that ten of them fit a small model's context.
ANSWER_CHARACTERS = 300
TOPIC_TOKENS = 100


async def topic_of(model: LanguageModel, turns: Sequence[Turn]) -> str:
    """What a conversation is about, on one short line; empty if the model says nothing of use."""
    told = "\n".join(
        f"Reader: {turn.question}\nBook: {shortened(turn.answer, ANSWER_CHARACTERS)}"
        for turn in turns
    )
    said = Cleaning().clean(await model.reply(TOPIC, told, TOPIC_TOKENS))
    topic = shortened(said, MAX_SUMMARY).strip("\"'“”*` ")
    # Later turns show it to the model beside its rules, so it must not give orders.
    return "" if is_instruction(topic) else topic


Choice = Literal["auto", "required", "none"]

# The id of the tool call that we make in the model's name. Some servers accept only nine letters
# and digits. It is always the same, so that a server can reuse a prompt it has cached.
CALL_ID = "searched1"
# The model calls tools that do not exist, never stops calling, or refuses to answer.
LOST = (MaxTurnsExceeded, ModelBehaviorError, ModelRefusalError)


def _tool(state: TurnState) -> RetrievalTool:
    return RetrievalTool.of(state.tool_name, state.asked.top_k, state.asked.threshold)


class ModelWriter:
    """Lets a language model write from search results. Where the question itself says what to
    search for, we search; otherwise the model has to search first."""

    quotes = False

    def __init__(self, config: AgentConfig, model: LanguageModel | None = None) -> None:
        self._config = config
        self.model = model or LanguageModel(config)

    @property
    def name(self) -> str:
        return self.model.name

    async def search_and_write(
        self, state: TurnState, conversation: Conversation, write: Write
    ) -> None:
        """For a question that stands alone we search first, and ask the model only if the book may
        have the answer: one request is enough, or none. For any other question the model makes the
        query. If it then writes nothing, the results are put before it once more."""
        summary = conversation.topic_summary
        run = _Run(state, write, self._config)
        items: list[Any] = [
            *messages_of(conversation.window(self._config.history_turns)),
            {"role": "user", "content": state.asked.question},
        ]
        if state.asked.searched_first:
            await state.search(json.dumps({"query": state.asked.query}))
            if not state.may_write:
                return
            await run.write_from_results(self._agent(state, summary, "auto"), items)
        else:
            await run.search(self._agent(state, summary, "required"), items)
        if state.passages and not run.wrote and state.problem is None:
            await run.write_from_results(self._agent(state, summary, "none"), items)

    async def reply(self, state: TurnState, instructions: str, text: str, tokens: int) -> str:
        said: list[str] = []

        async def note(piece: str | Quote) -> None:
            said.append(str(piece))

        agent = Agent[TurnState](
            name="bythebook",
            instructions=instructions,
            model=self.model,
            model_settings=replace(self._model_settings(), max_tokens=tokens),
        )
        items = [{"role": "user", "content": text}]
        with suppress(*LOST):  # then it has nothing to say
            await _Run(state, note, self._config).run(agent, items)
        return "".join(said)

    def _model_settings(self, choice: Choice | None = None) -> ModelSettings:
        return ModelSettings(
            temperature=self._config.temperature,
            tool_choice=choice,
            max_tokens=self._config.openai_max_tokens,
            include_usage=True,
        )

    def _agent(self, state: TurnState, summary: str, choice: Choice) -> Agent[TurnState]:
        asked = state.asked
        tool = _tool(state).definition()["function"]
        return Agent[TurnState](
            name="bythebook",
            instructions=prompts.instructions(
                tool=state.tool_name,
                refusal=self._config.refusal,
                language=language_name(asked.book.language),
                question_language=language_name(asked.language) if asked.language else None,
                summary=summary,
                searched=choice != "required",
            ),
            model=self.model,
            model_settings=self._model_settings(choice),
            tools=[
                FunctionTool(
                    name=tool["name"],
                    description=tool["description"],
                    params_json_schema=tool["parameters"],
                    on_invoke_tool=lambda _context, arguments: state.search(arguments),
                    strict_json_schema=False,
                )
            ],
            tool_use_behavior=lambda _context, _results: _go_on_or_stop(state),
        )


def _go_on_or_stop(state: TurnState) -> ToolsToFinalOutputResult:
    """Weak evidence ends the turn before the model may write. A call that could not be used as it
    was ends the run too: if it is sent back, some servers fail, and small models refuse although
    the results hold the answer. The results are then put before the model with a clean call."""
    return ToolsToFinalOutputResult(
        not state.may_write or state.had_to_repair_call, final_output=""
    )


class _Run:
    """The SDK's runs of one turn. `wrote` is true once there is something to show."""

    def __init__(self, state: TurnState, write: Write, config: AgentConfig) -> None:
        self._state = state
        self._write = write
        self._config = config
        self.wrote = self._at_new_reply = False
        self._cleaning = Cleaning()

    async def search(self, agent: Agent[TurnState], items: list[Any]) -> None:
        with suppress(*LOST):  # it gets what was found so far from `write_from_results`
            await self.run(agent, items)
        if not self._state.searched and self._state.problem is None:
            await self._state.search(json.dumps({"query": self._state.asked.query}))

    async def write_from_results(self, agent: Agent[TurnState], items: list[Any]) -> None:
        """Put the results before the model as if it had asked for them."""
        query = self._state.asked.query
        total = max(call.total_chunks_found for call in self._state.calls)
        call = {
            "type": "function_call",
            "call_id": CALL_ID,
            "name": self._state.tool_name,
            "arguments": json.dumps({"query": query}, ensure_ascii=False),
        }
        output = {
            "type": "function_call_output",
            "call_id": call["call_id"],
            "output": ToolResponse.of(self._state.passages, query, total_found=total).to_json(),
        }
        with suppress(*LOST):  # then it wrote nothing that can be shown, which is a refusal
            await self.run(agent, [*items, call, output])

    async def run(self, agent: Agent[TurnState], items: list[Any]) -> None:
        seconds = self._config.turn_timeout
        late = OutOfTime(
            f"The language model took longer than {seconds:g} seconds for its answer.",
            "TURN_TIMEOUT",
        )
        result = Runner.run_streamed(
            agent,
            items,
            context=self._state,
            max_turns=MAX_SEARCHES + 2,
            run_config=RunConfig(tracing_disabled=True, call_model_input_filter=self._fit),
        )
        stream = cast(AsyncGenerator[StreamEvent], result.stream_events())
        try:
            async for event in stream_before(stream, self._state.began + seconds, late):
                if event.type == "raw_response_event":
                    await self._take(event.data)
        except OutOfTime as problem:
            raise out_of_time(problem) from problem
        finally:
            if not result.is_complete:
                result.cancel()
            self._state.tokens += result.context_wrapper.usage.total_tokens

    def _fit(self, data: CallModelData[Any]) -> ModelInputData:
        """Cut the input to size before each request, since each search adds to it."""
        told = data.model_data
        tools = json.dumps(_tool(self._state).definition())
        room = token_budget(self._config, told.instructions or "", tools)
        readings: dict[str, list[Reading]] = {}
        for judged in self._state.judged.values():
            for passage_id, reading in judged.readings.items():
                readings.setdefault(passage_id, []).append(reading)
        told.input = fitted(told.input, room, self._state.passages, readings)
        return told

    async def _take(self, event: Any) -> None:
        """Ignore text that comes before any passage was found: it could not be based on one."""
        if not self._state.passages:
            return
        if event.type == "response.completed":
            self._at_new_reply = self.wrote
        elif event.type == "response.output_text.delta":
            apart = "\n\n" if self._at_new_reply else ""  # two replies must not run together
            self._at_new_reply = False
            text = self._cleaning.clean(event.delta)
            self.wrote = self.wrote or bool(text.strip())
            await self._write(apart + text)


def messages_of(turns: Iterable[Turn]) -> list[dict[str, str]]:
    """A conversation as a model is given it: an earlier answer is followed by the places it cited,
    so that "the second source" means something."""
    messages: list[dict[str, str]] = []
    for turn in turns:
        listed = "\n".join(f"[{number}] {label}" for number, label in enumerate(turn.sources, 1))
        answer = turn.answer + (f"\n\nSources:\n{listed}" if listed else "")
        messages += [
            {"role": "user", "content": turn.question},
            {"role": "assistant", "content": answer},
        ]
    return messages
