"""Cutting sections into passages of the right size: ranges of the source, nothing left out."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from bythebook.models.chunk import MIN_TEXT, TOKENS_PER_WORD, WORD
from bythebook.reading.blocks import Block, BlockKind, Section
from bythebook.reading.directives import Range
from bythebook.reading.source import LINE_BREAK

TARGET_TOKENS = 400
MAX_TOKENS = 512
MIN_TOKENS = 100
# Neighbours smaller than this are not worth a choice between them when a long section is cut.
CRUMB_TOKENS = 10
OVERLAP_TOKENS = int(TARGET_TOKENS * 0.15)
# A table's head that is larger is not repeated.
HEAD_TOKENS = TARGET_TOKENS // 4
# Text without spaces (minified code, encoded data) must not grow without end.
CHARACTERS_PER_TOKEN = 16
WIDEST_STEP = 100

SENTENCE_END = re.compile(
    r"(?<=[.!?。！？])[\"')\]*_`]*\s+|(?<=[。！？])|(?:\r\n|\n|\r)[ \t]*(?=[-*+>|]|\d+[.)])"
)


@dataclass(frozen=True)
class CutUnit:
    """A piece that stays together, `body` being where it begins below its heading. `section` is
    the index of the section it belongs to, `cuts` are where its end may be repeated from. `head`
    is that of the table which it continues."""

    start: int
    end: int
    section: int
    kind: BlockKind
    body: int
    cuts: tuple[int, ...] = ()
    head: Range | None = None


@dataclass(frozen=True)
class Cut:
    """A range of the source, `core` being where it begins without repeated text. `head` stands
    above it: the head of the table that it begins in."""

    start: int
    end: int
    core: int
    units: tuple[CutUnit, ...]
    head: Range | None = None


class TokenCounter:
    """Counts the tokens of a range without looking at its text again."""

    def __init__(self, masked: str) -> None:
        self.text = masked
        found = [word.span() for word in WORD.finditer(masked)]
        self.starts = [start for start, _ in found]
        self.ends = [end for _, end in found]
        self.lengths = list(accumulate((end - start for start, end in found), initial=0))

    def tokens(self, start: int, end: int) -> float:
        first, last = bisect_right(self.ends, start), bisect_left(self.starts, end)
        by_length = self._length(start, end, first, last) / CHARACTERS_PER_TOKEN
        return max((last - first) * TOKENS_PER_WORD, by_length)

    def _length(self, start: int, end: int, first: int, last: int) -> int:
        """How many characters the words of the range have in it; a cut one has a part of them."""
        if first >= last:
            return 0
        before, after = max(0, start - self.starts[first]), max(0, self.ends[last - 1] - end)
        return self.lengths[last] - self.lengths[first] - before - after

    def widen(self, start: int, end: int) -> tuple[int, int]:
        """Take in words before, then after, until the range has text enough for a chunk."""
        if not self.starts:
            return start, end
        first, last = bisect_right(self.ends, start), bisect_left(self.starts, end)
        while start > self.starts[0] and self._length(start, end, first, last) < MIN_TEXT:
            first = bisect_left(self.starts, start) - 1
            start = max(self.starts[first], min(start, self.ends[first]) - WIDEST_STEP)
        while last < len(self.starts) and self._length(start, end, first, last) < MIN_TEXT:
            end = min(self.ends[last], self.starts[last] + WIDEST_STEP)
            last += 1
        return start, end

    def word_starts(self, start: int, end: int) -> list[int]:
        return self.starts[bisect_left(self.starts, start) : bisect_left(self.starts, end)]


def cut_sections(sections: Sequence[Section], masked: str) -> list[Cut]:
    """Passages of one file in order; without their repeated text they tile it."""
    counter = TokenCounter(masked)
    pieces = [
        piece
        for index, section in enumerate(sections)
        for piece in _split(_units(section, index, counter), counter)
    ]
    pieces = _merge_small(pieces, sections, counter)
    return _with_overlap(pieces, counter)


def _size(units: Sequence[CutUnit], counter: TokenCounter) -> float:
    return _extent(units[0], units[-1], counter)


def _extent(first: CutUnit, last: CutUnit, counter: TokenCounter) -> float:
    head = counter.tokens(*first.head) if first.head else 0.0
    return head + counter.tokens(first.start, last.end)


def _units(section: Section, index: int, counter: TokenCounter) -> list[CutUnit]:
    units = [
        CutUnit(
            start,
            end,
            index,
            piece.kind,
            start,
            tuple(child.start for child in piece.children),
            head if (head := _head(piece, counter)) and start >= head[1] else None,
        )
        for block in section.blocks
        for start, end, piece in _pieces(block, counter)
    ]
    # A heading stays with what follows it, where both fit.
    joined: list[CutUnit] = []
    for unit in units:
        heading = joined[-1] if joined and joined[-1].kind == "heading" else None
        if heading and counter.tokens(heading.start, unit.end) <= MAX_TOKENS:
            joined[-1] = replace(unit, start=heading.start)
        else:
            joined.append(unit)
    return _without_crumbs(joined, counter)


def _without_crumbs(units: list[CutUnit], counter: TokenCounter) -> list[CutUnit]:
    """Thousands of tiny paragraphs or list items would make the search for cuts slow."""
    kept: list[CutUnit] = []
    for unit in units:
        last = kept[-1] if kept else None
        if (
            last
            and "heading" not in (last.kind, unit.kind)
            and counter.tokens(unit.start, unit.end) < CRUMB_TOKENS
            and counter.tokens(last.start, last.end) < CRUMB_TOKENS
        ):
            kind: BlockKind = "prose" if last.kind == unit.kind == "prose" else "group"
            cuts = (*last.cuts, unit.start) if counter.tokens(unit.start, unit.end) else last.cuts
            kept[-1] = replace(last, end=unit.end, kind=kind, cuts=cuts)
        else:
            kept.append(unit)
    return kept


def _pieces(block: Block, counter: TokenCounter) -> list[tuple[int, int, Block]]:
    """The block, or what it must be cut into to stay within the maximum."""
    if counter.tokens(block.start, block.end) <= MAX_TOKENS:
        return [(block.start, block.end, block)]
    if block.kind == "group" and block.children:
        return [piece for child in block.children for piece in _pieces(child, counter)]
    pattern = LINE_BREAK if block.kind == "verbatim" else SENTENCE_END
    head = _head(block, counter)
    begins = head[1] if head else block.start
    cuts = [found.end() for found in pattern.finditer(counter.text, begins, block.end)]
    target = TARGET_TOKENS - (counter.tokens(*head) if head else 0)
    return [
        (start, end, block)
        for piece_start, piece_end in _pack(block.start, block.end, cuts, counter, target)
        for start, end in (
            [(piece_start, piece_end)]
            if counter.tokens(piece_start, piece_end) <= target + MAX_TOKENS - TARGET_TOKENS
            else _pack(
                piece_start,
                piece_end,
                _finest_cuts(piece_start, piece_end, counter),
                counter,
                target,
            )
        )
    ]


def _head(block: Block, counter: TokenCounter) -> Range | None:
    """What each part of a table repeats: its head, if that has text enough and not too much."""
    if block.head is None or counter.tokens(*block.head) > HEAD_TOKENS:
        return None
    letters = sum(map(len, counter.text[slice(*block.head)].split()))
    return block.head if letters >= MIN_TEXT else None


def _finest_cuts(start: int, end: int, counter: TokenCounter) -> list[int]:
    """Between words, and inside a word too long for any passage."""
    longest = MAX_TOKENS * CHARACTERS_PER_TOKEN // 2
    words = [*counter.word_starts(start, end), end]
    return [cut for word, following in pairwise(words) for cut in range(word, following, longest)]


def _pack(
    start: int, end: int, cuts: Sequence[int], counter: TokenCounter, target: float
) -> list[tuple[int, int]]:
    """Fill ranges up to the target, cutting only at `cuts`."""
    packed: list[tuple[int, int]] = []
    piece_start, last = start, start
    for cut in [*cuts, end]:
        if last > piece_start and counter.tokens(piece_start, cut) > target:
            packed.append((piece_start, last))
            piece_start = last
        last = cut
    if piece_start < end:
        packed.append((piece_start, end))
    return packed


def _split(units: list[CutUnit], counter: TokenCounter) -> list[list[CutUnit]]:
    """The cut of a section into parts with the least deviation from the target."""
    if _size(units, counter) <= MAX_TOKENS:
        return [units]
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(units) + 1):
        choices: list[tuple[float, int]] = []
        for start in range(end - 1, -1, -1):
            size = _extent(units[start], units[end - 1], counter)
            if size > MAX_TOKENS and choices:
                break
            choices.append((best[start][0] + _cost(size, units[end - 1], start > 0), start))
        best.append(min(choices))
    parts: list[list[CutUnit]] = []
    end = len(units)
    while end:
        start = best[end][1]
        parts.append(units[start:end])
        end = start
    return parts[::-1]


def _cost(size: float, last: CutUnit, repeats: bool) -> float:
    with_overlap = size + (OVERLAP_TOKENS if repeats else 0)
    cost = (with_overlap - TARGET_TOKENS) ** 2
    if size < MIN_TOKENS:
        cost += 10.0**6
    if last.kind == "heading":  # it would stand at the end, away from its text
        cost += 10.0**7
    return cost


def _merge_small(
    pieces: list[list[CutUnit]], sections: Sequence[Section], counter: TokenCounter
) -> list[list[CutUnit]]:
    """Join every piece under the minimum to a neighbour that can take it."""
    done: list[list[CutUnit]] = []
    waiting = pieces[::-1]
    while waiting:
        piece = waiting.pop()
        if _size(piece, counter) >= MIN_TOKENS:
            done.append(piece)
            continue
        before = _joined([*done[-1], *piece], counter) if done else None
        after = _joined([*piece, *waiting[-1]], counter) if waiting else None
        if after and (before is None or _goes_on(piece, waiting[-1], sections, counter)):
            waiting[-1:] = after[::-1]
        elif before:
            done[-1:] = before
        else:
            done.append(piece)
    return done


def _joined(units: list[CutUnit], counter: TokenCounter) -> list[list[CutUnit]] | None:
    """The two as one, or cut anew where both parts then have their size."""
    parts = _split(units, counter)
    fits = len(parts) == 1 or all(_size(part, counter) >= MIN_TOKENS for part in parts)
    return parts if fits else None


def _goes_on(
    piece: list[CutUnit],
    following: list[CutUnit],
    sections: Sequence[Section],
    counter: TokenCounter,
) -> bool:
    """An introduction or a bare heading goes with what follows, and small neighbours together."""
    introduces = sections[following[0].section].level > sections[piece[-1].section].level
    bare_heading = piece[-1].kind == "heading"
    return introduces or bare_heading or _size(following, counter) < MIN_TOKENS


def _with_overlap(pieces: list[list[CutUnit]], counter: TokenCounter) -> list[Cut]:
    cuts: list[Cut] = []
    for index, units in enumerate(pieces):
        start = core = units[0].start
        head, end = units[0].head, units[-1].end
        previous = pieces[index - 1][-1] if index else None
        if previous and head is None and previous.section == units[0].section:
            budget = min(OVERLAP_TOKENS, MAX_TOKENS - _size(units, counter))
            if previous.head:
                budget -= counter.tokens(*previous.head)
            start = _overlap_start(previous, budget, counter)
            head = previous.head if start == previous.body else None
        if head is None:
            start, end = counter.widen(start, end)
        cuts.append(Cut(start, end, core, tuple(units), head))
    return cuts


def _overlap_start(previous: CutUnit, budget: float, counter: TokenCounter) -> int:
    """Where the end of the part before begins that fits the budget: whole code, else sentences."""
    start, end = previous.body, previous.end
    candidates: list[Sequence[int]] = [[start], previous.cuts]
    if previous.kind == "prose":
        sentences = [found.end() for found in SENTENCE_END.finditer(counter.text, start, end)]
        candidates += [sentences, counter.word_starts(start, end)]
    for cuts in candidates:
        for cut in cuts:
            if cut < end and 0 < counter.tokens(cut, end) <= budget:
                return cut
    return end
