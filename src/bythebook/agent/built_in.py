"""The built-in answerer as a model of the SDK: it sees what a language model would see, and writes
what the book says, word for word."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from agents import Model, ModelResponse
from agents.items import TResponseStreamEvent

from bythebook.agent.history import turns_of
from bythebook.agent.responses import events_of, text_reply, tool_reply
from bythebook.embedding.embedder import Embedder
from bythebook.grounding.instructions import without_instructions
from bythebook.models.conversation import Turn
from bythebook.quoting.compose import Similarity, compose
from bythebook.quoting.excerpt import Excerpt
from bythebook.quoting.followup import standalone, wants_more

NAME = "built-in (quotes the book)"


class QuotingModel(Model):
    """Searches for the question, made to stand alone, then quotes. `refusal` is what it says when
    nothing that was found answers."""

    name = NAME

    def __init__(self, language: str, refusal: str, embedder: Embedder | None = None) -> None:
        self._language = language
        self._refusal = refusal
        self._embedder = embedder

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: Any,
        tools: list[Any],
        *others: Any,
        **more: Any,
    ) -> ModelResponse:
        items = [{"role": "user", "content": input}] if isinstance(input, str) else input
        asked = max(n for n, item in enumerate(items) if item.get("role") == "user")
        question, turns = items[asked]["content"], turns_of(items[:asked])
        results = _results(items[asked:])
        if results is None:
            query = standalone(question, turns, self._language).query
            return tool_reply(tools[0].name, {"query": query})
        text = await self._compose(question, turns, results)
        return text_reply(text or self._refusal)

    async def stream_response(
        self, *args: Any, **kwargs: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        for event in events_of(await self.get_response(*args, **kwargs), self.name):
            yield event

    async def _compose(
        self, question: str, turns: Sequence[Turn], results: Sequence[dict[str, Any]]
    ) -> str:
        excerpts = [_excerpt(result) for result in results]
        alone = standalone(question, turns, self._language)
        if alone.source is not None and turns:
            excerpts = _of_source(excerpts, turns, alone.source) or excerpts
        said = [turn.answer for turn in turns[-2:]] if wants_more(question) else []
        return await asyncio.to_thread(
            compose, alone.query, excerpts, self._language, self._similarity(), said
        )

    def _similarity(self) -> Similarity | None:
        if self._embedder is None:
            return None
        embedder, loop = self._embedder, asyncio.get_running_loop()

        def similarity(question: str, texts: Sequence[str]) -> Sequence[float]:
            """Called from the composing thread; the embedder belongs to the loop."""
            work = _cosines(embedder, question, texts)
            return asyncio.run_coroutine_threadsafe(work, loop).result()

        return similarity


async def _cosines(embedder: Embedder, question: str, texts: Sequence[str]) -> list[float]:
    wanted = await embedder.embed_query(question)
    vectors = await embedder.embed_documents(texts)
    return [float(vector @ wanted) for vector in vectors]


def _results(items: Sequence[Any]) -> list[dict[str, Any]] | None:
    """Everything the searches of this turn returned; None before the first."""
    outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
    if not outputs:
        return None
    return [result for output in outputs for result in json.loads(output).get("results", [])]


def _excerpt(result: dict[str, Any]) -> Excerpt:
    return Excerpt(
        number=result["cite"],
        text=without_instructions(result["chunk_text"]),
        title=result["page_title"],
        section=result["section_heading"] or "",
        score=result["similarity_score"],
    )


def _of_source(excerpts: Sequence[Excerpt], turns: Sequence[Turn], number: int) -> list[Excerpt]:
    """Those of the place that an earlier answer cited by this number."""
    sources = next((turn.sources for turn in reversed(turns) if turn.sources), ())
    if not 0 < number <= len(sources):
        return []
    page, _, section = sources[number - 1].partition(" › ")
    return [each for each in excerpts if each.title == page and section in ("", each.section)]
