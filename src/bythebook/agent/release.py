"""The gate between a model and a reader: only what a cited passage bears goes through.

The unit of trust is the sentence (language.units). Each is checked against the passages it cites;
a marker that points to the wrong passage is set right, one that points nowhere is dropped, and a
sentence that no passage bears is never shown. What was shown is never taken back.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace

from bythebook.agent.markers import Marked, put_markers, take_markers
from bythebook.agent.rounds import Rounds
from bythebook.extractive.answer import Quote
from bythebook.grounding.check import Support, check, is_connective
from bythebook.grounding.translation import check_quote, facts_agree
from bythebook.language.units import LONGEST_UNIT, UnitStream
from bythebook.models.answer import Citation, Sentence
from bythebook.models.passage import Passage

HEADING = re.compile(r"#{1,6}\s")
UNFINISHED = re.compile(r"[^\s.!?:…。！？\"'”’»)\]*_`~|>]\s*$")
WORDLESS = re.compile(r"[\W_]*")


@dataclass(frozen=True)
class _Borne:
    """A passage that bears a unit, and where."""

    passage: Passage
    start: int
    end: int
    score: float


class Releaser:
    """Takes a model's text as it comes and gives back the text a reader may see."""

    def __init__(
        self,
        passages: Sequence[Passage],
        language: str,
        question: str,
        rounds: Rounds,
        translated: bool = False,
    ) -> None:
        self._passages = passages
        self._language = language
        self._question = question
        self._rounds = rounds
        self._translated = translated
        self._units = UnitStream()
        self._written = ""
        self._gap = ""
        # Headings and introductions wait for something to introduce.
        self._waiting: list[tuple[str, list[_Borne]]] = []
        # A quoted entry's heading waits for what is said of it.
        self._term: Quote | None = None
        self._borne: dict[str, list[_Borne]] = {}
        self.sentences: list[Sentence] = []
        self.removed: list[tuple[str, tuple[str, ...]]] = []
        self.unfinished = False
        # What a reader is told before the first words.
        self.opening = ""

    @property
    def text(self) -> str:
        return self._written

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(
            _citation(number, borne) for number, borne in enumerate(self._borne.values(), 1)
        )

    async def feed(self, text: str) -> AsyncIterator[str]:
        """Released text, in order."""
        for unit in self._units.feed(text):
            async for shown in self._take(unit):
                yield shown

    def quote(self, quote: Quote) -> str:
        """Words of the book, taken from where they say: there is nothing to check."""
        if quote.term:
            self._term = quote
            return ""
        borne = _Borne(quote.passage, quote.start, quote.end, score=1.0)
        if not (quote.introduced and self.sentences):
            term, self._term = self._term, None
            if term is None:
                return self._release(quote.gap + quote.text, [borne])
            named = _Borne(term.passage, term.start, term.end, score=1.0)
            return self._release(f"{term.gap}{term.text}\n\n{quote.text}", [named, borne])
        self._borne[quote.passage.id].append(borne)
        self._written += quote.gap + quote.text
        self.sentences[-1] = replace(self.sentences[-1], end=len(self._written))
        return quote.gap + quote.text

    async def finish(self, complete: bool = True) -> AsyncIterator[str]:
        """What is left. A sentence in which the model was cut off is not shown."""
        units = self._units.finish()
        if units and not (complete and _is_finished(units[-1])):
            self._widen_gap(units.pop())
            self.unfinished = True
        for unit in units:
            async for shown in self._take(unit):
                yield shown

    async def _take(self, unit: str) -> AsyncIterator[str]:
        if len(unit) >= LONGEST_UNIT:  # no sentence, table or listing of a passage is so long
            self._remove(unit, ("it is too long to be checked",))
            return
        marked = take_markers(unit)
        body = marked.text.strip()
        if WORDLESS.fullmatch(body):  # rules, stray markers
            self._widen_gap(unit)
            return
        borne, reasons = await self._bear(body, marked)
        introduces = body.endswith(":") or bool(HEADING.match(body))
        if not borne and not is_connective(body):
            self._remove(unit, reasons)
        elif introduces or not borne:
            self._waiting.append((unit, borne))
        else:
            waiting, self._waiting = self._waiting, []
            for earlier, bearing in waiting:
                yield self._release(earlier, bearing)
            yield self._release(unit, borne)

    async def _bear(self, body: str, marked: Marked) -> tuple[list[_Borne], tuple[str, ...]]:
        """The passages that bear it: of those it cites, else of all that were retrieved."""
        cited = [
            self._passages[number - 1]
            for number in marked.numbers
            if 0 < number <= len(self._passages)
        ]
        if self._translated and marked.quotes:
            return self._bear_translation(body, marked.quotes, [*cited, *self._passages])
        others = [passage for passage in self._passages if passage not in cited]
        reasons: tuple[str, ...] = ()
        for candidates in (cited, others):
            checked = [(passage, await self._check(body, passage)) for passage in candidates]
            bearing = [_where(passage, found) for passage, found in checked if found.supported]
            if bearing:
                if candidates is others:
                    bearing = [max(bearing, key=lambda each: each.score)]
                return bearing, ()
            reasons = reasons or next((found.reasons for _, found in checked), ())
        return [], reasons or ("no passage bears it",)

    async def _check(self, body: str, passage: Passage) -> Support:
        await self._rounds.next()  # each takes milliseconds
        return check(body, evidence_of(passage), self._language, question=self._question)

    def _bear_translation(
        self, body: str, quotes: Iterable[str], passages: Sequence[Passage]
    ) -> tuple[list[_Borne], tuple[str, ...]]:
        """In another language, the words that are translated are what can be verified."""
        borne: list[_Borne] = []
        for quote in quotes:
            if reasons := facts_agree(body, quote):
                return [], reasons
            places = ((passage, check_quote(quote, passage.text)) for passage in passages)
            found = next(((passage, place) for passage, place in places if place), None)
            if found is None:
                return [], ("the quoted words are not in the book",)
            borne.append(_Borne(found[0], *found[1], score=1.0))
        return borne, ()

    def _remove(self, unit: str, reasons: tuple[str, ...]) -> None:
        self.removed.append((unit.strip(), reasons))
        self._widen_gap(unit)

    def _widen_gap(self, unit: str) -> None:
        """Where something is left out, the wider of the gaps around it stays."""
        lead, _, tail = _parts(unit)
        self._gap = max(self._gap, lead, tail, key=lambda gap: (gap.count("\n"), len(gap)))

    def _release(self, unit: str, borne: list[_Borne]) -> str:
        lead, body, tail = _parts(unit)
        for each in borne:
            self._borne.setdefault(each.passage.id, []).append(each)
        order = list(self._borne)
        numbers = tuple(sorted({order.index(each.passage.id) + 1 for each in borne}))
        shown = put_markers(take_markers(body).text.strip(), numbers)
        gap = (self._gap + lead) if self._written else self.opening
        start = len(self._written) + len(gap)
        support = max((each.score for each in borne), default=1.0)
        self.sentences.append(Sentence(start, start + len(shown), numbers, support))
        self._written += gap + shown
        self._gap = tail
        return gap + shown


def _is_finished(unit: str) -> bool:
    marked = take_markers(unit)
    return bool(marked.numbers) or not UNFINISHED.search(marked.text)


def evidence_of(passage: Passage) -> str:
    """What may bear a sentence: the passage and the headings it stands under."""
    return f"{_headings(passage)}{passage.text}"


def _headings(passage: Passage) -> str:
    return " › ".join(passage.metadata.heading_path) + "\n\n"


def _where(passage: Passage, found: Support) -> _Borne:
    """The stretch within the passage itself; what only the headings say points to its start."""
    shift = len(_headings(passage))
    start, end = max(0, found.start - shift), max(0, found.end - shift)
    if start >= end:
        start, end = 0, len(passage.text)
    return _Borne(passage, start, end, found.score)


def _parts(unit: str) -> tuple[str, str, str]:
    body = unit.strip()
    at = unit.index(body) if body else len(unit)
    return unit[:at], body, unit[at + len(body) :]


def _citation(number: int, borne: Sequence[_Borne]) -> Citation:
    stretches = merged([(each.start, each.end) for each in borne])
    passage = borne[0].passage
    return Citation(
        number=number,
        passage=passage,
        start=stretches[0][0],
        end=stretches[-1][1],
        confidence=passage.score,
        stretches=tuple(stretches),
    )


def merged(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, with those that touch joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined
