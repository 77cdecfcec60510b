"""The gate between a model and a reader: only sentences that a cited passage supports pass."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from bythebook.agent.citations import Marked, Support, citation_of, put_markers, take_markers
from bythebook.agent.sanitize import is_open, plain_words
from bythebook.agent.scheduling import FairTurns
from bythebook.extractive.quotes import Quote, quotes_of
from bythebook.grounding.lexical import check_quote, facts_agree
from bythebook.grounding.verifier import Verdict, Verifier, is_connective
from bythebook.language.segmentation import LONGEST_UNIT, UnitStream, split_units
from bythebook.models.answer import Citation, Sentence
from bythebook.models.passage import Passage
from bythebook.reader.reader import Evidence, Reading

HEADING = re.compile(r"#{1,6}\s")
UNFINISHED = re.compile(r"[^\s.!?:…。！？\"'”’»)\]*_`~|>]\s*$")
WORDLESS = re.compile(r"[\W_]*")
# Of the passages that a sentence does not cite, at most this many are tried (one more where it
# cites none): those that share most words with it.
MOST_OTHERS = 2
# A passage that shares less than this part of what the best one shares is about something else.
SHARED_ENOUGH = 2 / 3
# A tag that is still open where its sentence ends may be this many characters long.
LONGEST_TAG = 1000


@dataclass(frozen=True)
class CheckedUnit:
    """A unit that was checked but not shown yet. It failed if there are `reasons`; `nearest` is
    then the place that comes closest to it, and `unsure` means that the reading model could not
    tell. One that `introduces`, such as a heading, is shown only with what it introduces."""

    unit: str
    supports: tuple[Support, ...] = ()
    introduces: bool = False
    reasons: tuple[str, ...] = ()
    nearest: Support | None = None
    unsure: bool = False


class VerifiedStream:
    """Takes a model's text as it comes and gives back the text a reader may see."""

    def __init__(
        self,
        passages: Sequence[Passage],
        verifier: Verifier,
        fair_turns: FairTurns,
        *,
        translated: bool = False,
    ) -> None:
        self._passages = passages
        self._verifier = verifier
        self._fair_turns = fair_turns
        self._translated = translated
        self._units = UnitStream()
        self._open = ""
        self._written = ""
        self._gap = ""
        self._widened = False
        self._queue: list[CheckedUnit] = []
        # A term that was quoted, held back until what the book says of it is quoted too.
        self._term: Quote | None = None
        self._supports: dict[str, list[Support]] = {}
        self.sentences: list[Sentence] = []
        self.removed: list[tuple[str, tuple[str, ...]]] = []
        self.unfinished = False
        # Shown before the first words.
        self.opening = ""

    @property
    def text(self) -> str:
        return self._written

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(
            citation_of(number, supports)
            for number, supports in enumerate(self._supports.values(), 1)
        )

    @property
    def verified_text(self) -> str:
        """Everything that holds so far, shown or not."""
        waiting = "".join(checked.unit for checked in self._queue if not checked.reasons)
        return self._written + waiting

    @property
    def failed(self) -> list[CheckedUnit]:
        """What waits to be mended, in order."""
        return [checked for checked in self._queue if checked.reasons]

    async def feed(self, text: str) -> AsyncIterator[str]:
        """Released text, in order."""
        for unit in self._units.feed(text):
            async for shown in self._take(unit):
                yield shown

    def quote(self, quote: Quote) -> str:
        """Add the book's own words, which need no check; returns what to show of them now."""
        if quote.term:
            self._term = quote
            return ""
        support = Support(quote.passage, quote.start, quote.end, score=1.0)
        if not (quote.introduced and self.sentences):
            term, self._term = self._term, None
            if term is None:
                return self._release(quote.gap + quote.text, [support])
            named = Support(term.passage, term.start, term.end, score=1.0)
            return self._release(f"{term.gap}{term.text}\n\n{quote.text}", [named, support])
        self._supports[quote.passage.id].append(support)
        self._written += quote.gap + quote.text
        self.sentences[-1] = self.sentences[-1].model_copy(update={"end": len(self._written)})
        return quote.gap + quote.text

    def begin_paragraph(self) -> None:
        """Set what comes next apart from what was shown."""
        self._widen_gap("\n\n")

    async def finish(self, complete: bool = True) -> AsyncIterator[str]:
        """Yield what is left, without a sentence in which the model was cut off."""
        units = self._units.finish()
        if units and not (complete and _is_finished(units[-1])):
            self._widen_gap(units.pop())
            self.unfinished = True
        last, self._open = self._open + "".join(units[:1]), ""
        for unit in [last, *units[1:]] if last else units:
            async for shown in self._show(unit):
                yield shown

    def accept(self, checked: CheckedUnit) -> None:
        """Let a failed unit pass: the language model, as a judge, found it in the nearest place."""
        if checked.nearest:
            accepted = replace(checked, reasons=(), supports=(checked.nearest,))
            self._queue[self._queue.index(checked)] = accepted

    async def restate(self, checked: CheckedUnit, text: str) -> None:
        """Replace a failed unit with other words, if these pass the same check."""
        lead, _, tail = _parts(checked.unit)
        units = [self._plain(unit) for unit in split_units(text.strip())]
        new = [await self._check(unit) for unit in units if not _is_wordless(unit)]
        if new and not any(one.reasons for one in new):
            new[0] = replace(new[0], unit=lead + new[0].unit.lstrip())
            new[-1] = replace(new[-1], unit=new[-1].unit.rstrip() + tail)
            at = self._queue.index(checked)
            self._queue[at : at + 1] = new

    def conclude(self) -> Iterator[str]:
        """Yield everything that still waits, without what failed."""
        yield from self._drain(last=True)

    def _plain(self, unit: str) -> str:
        return plain_words(unit, (passage.text for passage in self._passages))

    async def _take(self, unit: str) -> AsyncIterator[str]:
        unit, self._open = self._open + unit, ""
        if is_open(unit) and len(unit) < LONGEST_TAG:
            self._open = unit
            return
        async for shown in self._show(unit):
            yield shown

    async def _show(self, unit: str) -> AsyncIterator[str]:
        unit = self._plain(unit)
        if _is_wordless(unit):  # rules, stray markers
            self._widen_gap(unit)
            return
        self._queue.append(await self._check(unit))
        for shown in self._drain(last=False):
            yield shown

    def _drain(self, last: bool) -> Iterator[str]:
        """Release from the front of the queue. Headings and introductions wait for something to
        introduce."""
        waiting: list[CheckedUnit] = []
        while self._queue and (last or not self._queue[0].reasons):
            checked = self._queue.pop(0)
            if checked.reasons:
                self.removed.append((checked.unit.strip(), checked.reasons))
                self._widen_gap(checked.unit)
            elif checked.introduces:
                waiting.append(checked)
            else:
                for each in (*waiting, checked):
                    yield self._release(each.unit, each.supports)
                waiting = []
        if not last:
            self._queue[:0] = waiting

    async def _check(self, unit: str) -> CheckedUnit:
        if len(unit) >= LONGEST_UNIT:  # no sentence, table or listing of a passage is so long
            return CheckedUnit(unit, reasons=("it is too long to be checked",))
        marked = take_markers(unit)
        body = marked.text.strip()
        if is_connective(body):
            return CheckedUnit(unit, introduces=True)
        checked = await self._find_support(unit, body, marked)
        introduces = body.endswith(":") or bool(HEADING.match(body))
        return replace(checked, introduces=introduces and not checked.reasons)

    async def _find_support(self, unit: str, body: str, marked: Marked) -> CheckedUnit:
        """Find the passages that support a unit: those it cites, one by one and then two together;
        failing that, one of the others that share most of its words."""
        cited = [
            self._passages[number - 1]
            for number in marked.numbers
            if 0 < number <= len(self._passages)
        ]
        if self._translated and marked.quotes:
            return self._find_quoted_support(unit, body, marked.quotes, [*cited, *self._passages])
        checked = [(passage, await self._verdict(body, passage)) for passage in cited]
        supporting = [_where(passage, found) for passage, found in checked if found.supported]
        if not supporting and len(cited) > 1:
            together = await self._verifier.check_together(body, cited[:2])
            if together.supported:
                supporting = [_where(passage, found) for passage, found in checked[:2]]
        if not supporting:
            others = [each for each in self._passages if each not in cited]
            shared = [await self._count_shared_words(body, passage) for passage in others]
            there = [await self._count_shared_words(body, passage) for passage in cited]
            enough = SHARED_ENOUGH * max((*shared, *there), default=0)
            order = sorted(range(len(others)), key=lambda number: -shared[number])
            for number in order[: MOST_OTHERS + (not cited)]:
                if shared[number] < enough:
                    break
                passage = others[number]
                found = await self._verdict(body, passage)
                checked.append((passage, found))
                if found.supported:
                    supporting = [_where(passage, found)]
                    break
        if supporting or not checked:
            return CheckedUnit(
                unit, tuple(supporting), reasons=() if supporting else ("no passage supports it",)
            )
        passage, best = max(checked, key=lambda each: each[1].score)
        reasons = checked[0][1].reasons
        return CheckedUnit(unit, reasons=reasons, nearest=_where(passage, best), unsure=best.unsure)

    async def _count_shared_words(self, body: str, passage: Passage) -> int:
        await self._fair_turns.next()  # a passage is parsed when first used, which takes a while
        return self._verifier.count_shared_words(body, passage)

    async def _verdict(self, body: str, passage: Passage) -> Verdict:
        await self._fair_turns.next()  # the rules before the reading model take milliseconds
        return await self._verifier.check(body, passage)

    def _find_quoted_support(
        self, unit: str, body: str, quotes: Iterable[str], passages: Sequence[Passage]
    ) -> CheckedUnit:
        """Where the answer is a translation, check the book's words that the model quoted."""
        supports: list[Support] = []
        for quote in quotes:
            if reasons := facts_agree(body, quote):
                return CheckedUnit(unit, reasons=reasons)
            places = ((passage, check_quote(quote, passage.text)) for passage in passages)
            found = next(((passage, place) for passage, place in places if place), None)
            if found is None:
                return CheckedUnit(unit, reasons=("the quoted words are not in the book",))
            supports.append(Support(found[0], *found[1], score=1.0))
        return CheckedUnit(unit, tuple(supports))

    def _widen_gap(self, unit: str) -> None:
        """Where something is left out, keep the wider of the gaps around it."""
        lead, _, tail = _parts(unit)
        self._gap = _widest(self._gap, lead, tail)
        self._widened = True

    def _release(self, unit: str, supports: Sequence[Support]) -> str:
        lead, body, tail = _parts(unit)
        for each in supports:
            self._supports.setdefault(each.passage.id, []).append(each)
        order = list(self._supports)
        numbers = tuple(sorted({order.index(each.passage.id) + 1 for each in supports}))
        shown = put_markers(take_markers(body).text.strip(), numbers)
        gap = _widest(self._gap, lead) if self._widened else self._gap + lead
        gap = gap if self._written else self.opening
        start = len(self._written) + len(gap)
        support = max((each.score for each in supports), default=1.0)
        self.sentences.append(
            Sentence(start=start, end=start + len(shown), citations=numbers, support=support)
        )
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


def _where(passage: Passage, found: Verdict) -> Support:
    """A sentence that only the headings support points to the whole passage."""
    start, end = (found.start, found.end) if found.end else (0, len(passage.text))
    return Support(passage, start, end, found.score)


def quotes_at(place: Support) -> list[Quote]:
    """The book's own words at this place, extended until they can stand alone."""
    marked = Evidence(place.start, place.end, 1.0)
    return quotes_of(place.passage, [Reading(0, 1.0, (marked,))])


def _parts(unit: str) -> tuple[str, str, str]:
    body = unit.strip()
    at = unit.index(body) if body else len(unit)
    return unit[:at], body, unit[at + len(body) :]
