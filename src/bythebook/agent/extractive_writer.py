"""The built-in answerer: it quotes the part of the book that answers, word for word."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from bythebook.agent.events import Write
from bythebook.agent.turn import TurnState
from bythebook.errors import BookNotFound
from bythebook.extractive.quotes import (
    Quote,
    continuation,
    continues_in_next,
    quotes_of,
    was_shown_before,
)
from bythebook.extractive.units import announces
from bythebook.language.query_rewrite import rewrite_standalone, wants_more
from bythebook.models.conversation import Conversation, Turn
from bythebook.models.passage import Passage
from bythebook.reader.reader import Reading
from bythebook.retrieval.reranker import Reranked
from bythebook.settings.agent import AgentConfig
from bythebook.tracing import span

NAME = "built-in (quotes the book)"


class ExtractiveWriter:
    """Searches for the question, made to stand alone, then quotes what the reader marked."""

    name = NAME
    quotes = True

    def __init__(self, config: AgentConfig) -> None:
        self._config = config

    async def search_and_write(
        self, state: TurnState, conversation: Conversation, write: Write
    ) -> None:
        await state.search(json.dumps({"query": state.asked.query}))
        if state.may_write:
            for quote in await self.quotes_for(state, conversation):
                await write(quote)

    async def quotes_for(self, state: TurnState, conversation: Conversation) -> list[Quote]:
        """From what was found."""
        turns = conversation.window(self._config.history_turns)
        with span("quote", passages=len(state.passages)):
            quotes = self._quotes(state, turns)
            if continues_in_next(quotes):
                more = await _next(state, quotes[-1].passage)
                # What nothing follows is no introduction.
                idle = not more and len(quotes) > 1 and announces(quotes[-1].text)
                quotes = quotes[:-1] if idle else [*quotes, *more]
        return quotes

    async def reply(self, state: TurnState, instructions: str, text: str, tokens: int) -> str:
        return ""

    def _quotes(self, state: TurnState, turns: Sequence[Turn]) -> list[Quote]:
        """From one passage for each question in the message."""
        asked = state.asked
        alone = rewrite_standalone(asked.question, turns, asked.book.language)
        said = [turn.answer for turn in turns[-2:]] if wants_more(asked.question) else []
        # The reader has it before the eyes.
        said += [asked.selected] if asked.selected else []
        parts = [part for part in asked.parts if part in state.judged]
        answered = [state.judged[part] for part in parts if state.judged[part].answers]
        whole = state.judged.get(asked.query)
        if not answered:
            answered = [whole or Reranked(tuple(state.passages), 0.0)]
        known = {passage.id: passage for passage in state.passages}
        chosen: dict[str, tuple[Passage, list[Reading]]] = {}
        for judged in answered:
            passages = [known[one.id] for one in judged.passages if one.id in known]
            if alone.source is not None and turns:
                named = _of_source(passages, turns, alone.source)
                passages = [*named, *(one for one in passages if one not in named)]
            new = (one for one in passages if _is_new(one, judged, said))
            passage = next(new, passages[0] if passages else None)
            if passage is not None:
                readings = chosen.setdefault(passage.id, (passage, []))[1]
                readings += filter(None, [judged.readings.get(passage.id)])
        quotes = [
            one for passage, readings in chosen.values() for one in quotes_of(passage, readings)
        ]
        left = [quote for quote in quotes if quote.term or not was_shown_before(quote, said)]
        # Where nothing is left to say, it is said again.
        return quotes if all(quote.term for quote in left) else left


async def _next(state: TurnState, passage: Passage) -> list[Quote]:
    """What the passage announces, from the one behind it."""
    try:
        *_, following = await state.library.context(
            state.asked.book.book_id, passage.id, before=0, after=1
        )
    except BookNotFound:  # its page has just changed
        return []
    following = replace(following, score=passage.score)
    quotes = continuation(passage, following)
    if quotes and following.id not in (one.id for one in state.passages):
        state.passages.append(following)
    return quotes


def _is_new(passage: Passage, judged: Reranked, said: Sequence[str]) -> bool:
    """Whether it says something that the conversation has not had."""
    readings = list(filter(None, [judged.readings.get(passage.id)]))
    return any(not was_shown_before(quote, said) for quote in quotes_of(passage, readings))


def _of_source(passages: Sequence[Passage], turns: Sequence[Turn], number: int) -> list[Passage]:
    """Those of the place that an earlier answer cited by this number."""
    sources = next((turn.sources for turn in reversed(turns) if turn.sources), ())
    if not 0 < number <= len(sources):
        return []
    page, _, below = sources[number - 1].partition(" › ")
    section = below.rpartition(" › ")[2]
    return [
        each
        for each in passages
        if each.metadata.title == page and section in ("", *each.metadata.sections)
    ]
