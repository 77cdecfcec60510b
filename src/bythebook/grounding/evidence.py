"""A passage made ready for checking sentences against it. Parsed once, kept for the next one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import log

from bythebook.grounding.instructions import without_instructions
from bythebook.grounding.words import bare, tokens_of
from bythebook.index.sparse import terms
from bythebook.language.segmentation import Piece, PieceKind, split_sentences, units_of

LINE = re.compile(r"[^\n]+")

Range = tuple[int, int]


@dataclass(frozen=True)
class EvidenceUnit:
    """The smallest stretch that says something: a sentence, a table row, a code block. `header` is
    the first row of its table."""

    kind: PieceKind
    start: int
    end: int
    stems: frozenset[str]
    header: Range | None = None


@dataclass(frozen=True)
class EvidenceStretch:
    """Units that stand together; `found` are the stems of a sentence that they hold."""

    units: tuple[EvidenceUnit, ...]
    found: frozenset[str]

    @property
    def start(self) -> int:
        return self.units[0].start

    @property
    def end(self) -> int:
        return self.units[-1].end


@dataclass(frozen=True, eq=False)
class CheckedPassage:
    text: str
    units: tuple[EvidenceUnit, ...]
    tokens: tuple[tuple[str, int, int], ...]
    # Numbers of the tokens that a unit may begin or end with.
    opening: dict[str, tuple[int, ...]]
    closing: frozenset[int]

    def verbatim(self, claim: str) -> Range | None:
        """Where these very words stand, from the beginning of a unit to the end of one."""
        wanted = [token for token, _, _ in tokens_of(bare(claim))]
        for first in self.opening.get(wanted[0], ()) if wanted else ():
            behind = first + len(wanted)
            offered = (token for token, _, _ in self.tokens[first:behind])
            if behind in self.closing and all(map(str.__eq__, wanted, offered)):
                start, end = self.tokens[first][1], self.tokens[behind - 1][2]
                touched = [unit for unit in self.units if unit.start < end and start < unit.end]
                return touched[0].start, touched[-1].end
        return None

    def stretches(self, stems: frozenset[str], room: int) -> list[EvidenceStretch]:
        """Where the words of a sentence stand: the units in at most `room` characters that hold
        most of them, the rare ones above all, and those that hold what is missing there."""
        first = self._stretch(stems, room)
        if first is None:
            return []
        second = self._stretch(stems - first.found, room)
        found = [first] if second is None or not second.found else [first, second]
        return sorted(found, key=lambda each: each.start)

    def _stretch(self, stems: frozenset[str], room: int) -> EvidenceStretch | None:
        matching = [unit.stems & stems for unit in self.units]
        count = Counter(stem for some in matching for stem in some)
        weight = {stem: log(1 + len(matching) / times) for stem, times in count.items()}
        best: tuple[float, int, int] | None = None
        for first, unit in enumerate(self.units):
            found: set[str] = set()
            value = 0.0
            for last in range(first, len(self.units)):
                if last > first and self.units[last].end - unit.start > room:
                    break
                value += sum(weight[stem] for stem in matching[last] - found)
                found |= matching[last]
                # The fewest of them where several hold as much.
                best = max(best or (value, 0, first), (value, first - last, first))
        if best is None:
            return None
        behind = best[2] - best[1] + 1
        return EvidenceStretch(
            self.units[best[2] : behind], frozenset[str]().union(*matching[best[2] : behind])
        )

    def read(self, stretches: Sequence[EvidenceStretch], room: int) -> str:
        """What is read to judge a sentence: the stretches with as much around them as there is room
        for, and the header of a table that is cut."""
        return self._with_neighbours({at for each in stretches for at in self._places(each)}, room)

    def around(self, start: int, end: int, room: int) -> str:
        """The units of a place, with as much around them as there is room for."""
        touched = {
            at for at, unit in enumerate(self.units) if unit.start < end and start < unit.end
        }
        return self._with_neighbours(touched, room)

    def _with_neighbours(self, chosen: set[int], room: int) -> str:
        length = sum(self.units[place].end - self.units[place].start for place in chosen)
        grown = True
        while grown:
            grown = False
            for place in sorted({near for at in chosen for near in (at - 1, at + 1)} - chosen):
                if 0 <= place < len(self.units):
                    longer = length + self.units[place].end - self.units[place].start
                    if longer <= room:
                        chosen.add(place)
                        length, grown = longer, True
        return "\n\n".join(self._run(run) for run in _runs(sorted(chosen)))

    def _places(self, stretch: EvidenceStretch) -> range:
        first = next(at for at, unit in enumerate(self.units) if unit is stretch.units[0])
        return range(first, first + len(stretch.units))

    def _run(self, places: Sequence[int]) -> str:
        first, last = self.units[places[0]], self.units[places[-1]]
        above = f"{self.text[slice(*first.header)]}\n" if first.header else ""
        return above + self.text[first.start : last.end]


def _runs(places: Sequence[int]) -> Iterator[list[int]]:
    """Places that follow each other, in one list."""
    for _, run in groupby(enumerate(places), key=lambda numbered: numbered[1] - numbered[0]):
        yield [place for _, place in run]


@lru_cache(maxsize=512)  # as many as a hundred readers at once have before them
def parse_passage(text: str, language: str) -> CheckedPassage:
    text = without_instructions(text)
    units = tuple(_units(text, language))
    tokens = tokens_of(bare(text))
    return CheckedPassage(text, units, tuple(tokens), *_edges(tokens, units))


def _units(text: str, language: str) -> Iterator[EvidenceUnit]:
    for piece in units_of(text):
        above = text[slice(*piece.header)] if piece.header else ""
        named = frozenset(terms(above, language))
        for start, end in _statements(text, piece):
            stems = frozenset(terms(text[start:end], language)) | named
            yield EvidenceUnit(piece.kind, start, end, stems, piece.header)


def _statements(text: str, piece: Piece) -> Iterator[Range]:
    """The sentences of a list item; any other unit as it is."""
    if piece.kind == "item":
        for line in LINE.finditer(text, piece.start, piece.end):
            yield from split_sentences(text, line.start(), line.end())
    else:
        yield piece.start, piece.end


def _edges(
    tokens: list[tuple[str, int, int]], units: tuple[EvidenceUnit, ...]
) -> tuple[dict[str, tuple[int, ...]], frozenset[int]]:
    starts = [start for _, start, _ in tokens]
    opening: dict[str, tuple[int, ...]] = {}
    closing: set[int] = set()
    for unit in units:
        first, behind = bisect_left(starts, unit.start), bisect_left(starts, unit.end)
        if first < behind:
            opening[tokens[first][0]] = (*opening.get(tokens[first][0], ()), first)
            closing.add(behind)
    return opening, frozenset(closing)
