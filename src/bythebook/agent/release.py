"""The gate between a model and a reader: only what a cited passage bears goes through.

The unit of trust is the sentence (language.units). Each is checked against the passages it cites;
a marker that points to the wrong passage is set right, one that points nowhere is dropped, and a
sentence that no passage bears is never shown. Where such a sentence may still be mended, what comes
behind it waits, so that the answer keeps its order. What was shown is never taken back.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from bythebook.agent.markers import Marked, put_markers, take_markers
from bythebook.agent.rounds import Rounds
from bythebook.extractive.answer import Quote
from bythebook.grounding.connective import is_connective
from bythebook.grounding.translation import check_quote, facts_agree
from bythebook.grounding.verifier import Verdict, Verifier
from bythebook.language.units import LONGEST_UNIT, UnitStream, split_units
from bythebook.models.answer import Citation, Sentence
from bythebook.models.passage import Passage

HEADING = re.compile(r"#{1,6}\s")
UNFINISHED = re.compile(r"[^\s.!?:…。！？\"'”’»)\]*_`~|>]\s*$")
WORDLESS = re.compile(r"[\W_]*")
# Of the passages that a sentence does not cite, those with most of its words are asked.
MOST_OTHERS = 2


@dataclass(frozen=True)
class _Borne:
    """A passage that bears a unit, and where."""

    passage: Passage
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Held:
    """A unit that was checked and not shown yet. It fails where `reasons` say why; `nearest` is
    where the reader would look for it if it is `unsure`."""

    unit: str
    borne: tuple[_Borne, ...] = ()
    introduces: bool = False
    reasons: tuple[str, ...] = ()
    nearest: _Borne | None = None
    unsure: bool = False


class Releaser:
    """Takes a model's text as it comes and gives back the text a reader may see."""

    def __init__(
        self,
        passages: Sequence[Passage],
        verifier: Verifier,
        rounds: Rounds,
        *,
        translated: bool = False,
        mends: bool = False,
    ) -> None:
        self._passages = passages
        self._verifier = verifier
        self._rounds = rounds
        self._translated = translated
        self._mends = mends
        self._units = UnitStream()
        self._written = ""
        self._gap = ""
        self._widened = False
        self._queue: list[Held] = []
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

    @property
    def failed(self) -> list[Held]:
        """What waits to be mended, in order."""
        return [held for held in self._queue if held.reasons]

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

    def accept(self, held: Held) -> None:
        """Somebody who may judge it has found that the nearest place says it."""
        if held.nearest:
            accepted = replace(held, reasons=(), borne=(held.nearest,))
            self._queue[self._queue.index(held)] = accepted

    async def restate(self, held: Held, text: str) -> None:
        """Put other words in its place; what they say is checked like everything else."""
        lead, _, tail = _parts(held.unit)
        units = split_units(text.strip())
        checked = [await self._check(unit) for unit in units if not _is_wordless(unit)]
        if checked and not any(one.reasons for one in checked):
            checked[0] = replace(checked[0], unit=lead + checked[0].unit.lstrip())
            checked[-1] = replace(checked[-1], unit=checked[-1].unit.rstrip() + tail)
            at = self._queue.index(held)
            self._queue[at : at + 1] = checked

    def conclude(self) -> Iterator[str]:
        """Everything that waits, without what fails for good."""
        yield from self._drain(last=True)

    async def _take(self, unit: str) -> AsyncIterator[str]:
        if _is_wordless(unit):  # rules, stray markers
            self._widen_gap(unit)
            return
        self._queue.append(await self._check(unit))
        for shown in self._drain(last=False):
            yield shown

    def _drain(self, last: bool) -> Iterator[str]:
        """Release from the front of the queue. Headings and introductions wait for something to
        introduce."""
        waiting: list[Held] = []
        while self._queue and (last or not (self._mends and self._queue[0].reasons)):
            held = self._queue.pop(0)
            if held.reasons:
                self.removed.append((held.unit.strip(), held.reasons))
                self._widen_gap(held.unit)
            elif held.introduces:
                waiting.append(held)
            else:
                for each in (*waiting, held):
                    yield self._release(each.unit, each.borne)
                waiting = []
        if not last:
            self._queue[:0] = waiting

    async def _check(self, unit: str) -> Held:
        if len(unit) >= LONGEST_UNIT:  # no sentence, table or listing of a passage is so long
            return Held(unit, reasons=("it is too long to be checked",))
        marked = take_markers(unit)
        body = marked.text.strip()
        if is_connective(body):
            return Held(unit, introduces=True)
        held = await self._bear(unit, body, marked)
        introduces = body.endswith(":") or bool(HEADING.match(body))
        return replace(held, introduces=introduces and not held.reasons)

    async def _bear(self, unit: str, body: str, marked: Marked) -> Held:
        """The passages that bear it: of those it cites, else of all that were retrieved."""
        cited = [
            self._passages[number - 1]
            for number in marked.numbers
            if 0 < number <= len(self._passages)
        ]
        if self._translated and marked.quotes:
            return self._bear_translation(unit, body, marked.quotes, [*cited, *self._passages])
        checked = [(passage, await self._verdict(body, passage)) for passage in cited]
        bearing = [_where(passage, found) for passage, found in checked if found.supported]
        if not bearing and len(cited) > 1:
            together = await self._verifier.check_together(body, cited[:2])
            if together.supported:
                bearing = [_where(passage, found) for passage, found in checked[:2]]
        if not bearing:
            others = [passage for passage in self._passages if passage not in cited]
            others.sort(key=lambda each: -self._verifier.holds(body, each))
            for passage in others[: MOST_OTHERS + (not cited)]:
                found = await self._verdict(body, passage)
                checked.append((passage, found))
                if found.supported:
                    bearing = [_where(passage, found)]
                    break
        if bearing or not checked:
            return Held(unit, tuple(bearing), reasons=() if bearing else ("no passage bears it",))
        passage, best = max(checked, key=lambda each: each[1].score)
        told = checked[0][1].reasons
        return Held(unit, reasons=told, nearest=_where(passage, best), unsure=best.unsure)

    async def _verdict(self, body: str, passage: Passage) -> Verdict:
        await self._rounds.next()  # what is done before the reader is asked takes milliseconds
        return await self._verifier.check(body, passage)

    def _bear_translation(
        self, unit: str, body: str, quotes: Iterable[str], passages: Sequence[Passage]
    ) -> Held:
        """In another language, the words that are translated are what can be verified."""
        borne: list[_Borne] = []
        for quote in quotes:
            if reasons := facts_agree(body, quote):
                return Held(unit, reasons=reasons)
            places = ((passage, check_quote(quote, passage.text)) for passage in passages)
            found = next(((passage, place) for passage, place in places if place), None)
            if found is None:
                return Held(unit, reasons=("the quoted words are not in the book",))
            borne.append(_Borne(found[0], *found[1], score=1.0))
        return Held(unit, tuple(borne))

    def _widen_gap(self, unit: str) -> None:
        """Where something is left out, the wider of the gaps around it stays."""
        lead, _, tail = _parts(unit)
        self._gap = _widest(self._gap, lead, tail)
        self._widened = True

    def _release(self, unit: str, borne: Sequence[_Borne]) -> str:
        lead, body, tail = _parts(unit)
        for each in borne:
            self._borne.setdefault(each.passage.id, []).append(each)
        order = list(self._borne)
        numbers = tuple(sorted({order.index(each.passage.id) + 1 for each in borne}))
        shown = put_markers(take_markers(body).text.strip(), numbers)
        gap = _widest(self._gap, lead) if self._widened else self._gap + lead
        gap = gap if self._written else self.opening
        start = len(self._written) + len(gap)
        support = max((each.score for each in borne), default=1.0)
        self.sentences.append(Sentence(start, start + len(shown), numbers, support))
        self._written += gap + shown
        self._gap, self._widened = tail, False
        return gap + shown


def _widest(*gaps: str) -> str:
    return max(gaps, key=lambda gap: (gap.count("\n"), len(gap)))


def _is_finished(unit: str) -> bool:
    marked = take_markers(unit)
    return bool(marked.numbers) or not UNFINISHED.search(marked.text)


def _is_wordless(unit: str) -> bool:
    return bool(WORDLESS.fullmatch(take_markers(unit).text.strip()))


def _where(passage: Passage, found: Verdict) -> _Borne:
    """What only the headings say points to the whole passage."""
    start, end = (found.start, found.end) if found.end else (0, len(passage.text))
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
