"""The built-in answerer: it writes what the book says, word for word. It is given what a language
model would be given, and knows no more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from operator import mul
from typing import Any

from bythebook.agent.turn import TurnState
from bythebook.agent.writer import Write
from bythebook.embedding.embedder import Embedder
from bythebook.grounding.instructions import without_instructions
from bythebook.models.conversation import Conversation, Turn
from bythebook.quoting.compose import Similarity, compose
from bythebook.quoting.excerpt import Excerpt
from bythebook.quoting.followup import standalone, wants_more
from bythebook.settings import Settings
from bythebook.tracing.spans import span

NAME = "built-in (quotes the book)"


class Quoter:
    """Searches for the question, made to stand alone, then quotes."""

    name = NAME
    quotes = True

    def __init__(self, settings: Settings, embedder: Embedder) -> None:
        self._settings = settings
        self._embedder = embedder if settings.embedder == "built-in" else None

    async def search_and_write(
        self, state: TurnState, conversation: Conversation, write: Write
    ) -> None:
        reply = await state.search(json.dumps({"query": state.asked.query}))
        if state.may_write:
            turns = conversation.window(self._settings.history_turns)
            with span("quote", passages=len(state.passages)):
                text = await self._compose(state, turns, json.loads(reply)["results"])
            await write(text or self._settings.refusal)

    async def _compose(
        self, state: TurnState, turns: Sequence[Turn], results: Sequence[dict[str, Any]]
    ) -> str:
        question, language = state.asked.question, state.asked.book.language
        excerpts = [_excerpt(result) for result in results]
        alone = standalone(question, turns, language)
        if alone.source is not None and turns:
            excerpts = _of_source(excerpts, turns, alone.source) or excerpts
        said = [turn.answer for turn in turns[-2:]] if wants_more(question) else []
        return await asyncio.to_thread(
            compose, alone.query, excerpts, language, self._similarity(), said
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
    return [sum(map(mul, vector, wanted)) for vector in vectors]


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
