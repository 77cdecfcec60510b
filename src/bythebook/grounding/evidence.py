"""A passage made ready for checking claims against it. Parsed once, kept for the next claim."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from bythebook.grounding.instructions import without_instructions
from bythebook.grounding.numbers import Number, numbers_of
from bythebook.grounding.words import Word, bare, tokens_of, words_of
from bythebook.language.pieces import Piece, PieceKind, pieces_of
from bythebook.language.sentences import split_sentences, trimmed

LINE = re.compile(r"[^\n]+")
RULE = re.compile(r"[\s:|-]+$")
HEAD_LINE = re.compile(r"[^\n]*\S ?> ?[^\n]*\n(?=[^\n])")
HYPHENED = re.compile(r"[^\W_]+(?:-[^\W_]+)+")
CONTRASTS = frozenset("but while whereas".split())
COORDINATORS = frozenset("and or so".split())
STATEMENT_END = re.compile(r"[;:.!?—|]")
ENDS_SENTENCE = (".", "!", "?", ":")


@dataclass(frozen=True)
class Unit:
    """The smallest stretch that says something: a sentence, a table row, a code block. `piece` is
    the piece it belongs to, `header` what a table's first row adds to each of its rows."""

    kind: PieceKind
    start: int
    end: int
    piece: int
    block: int
    # As plain tuples: a service keeps a hundred thousand of them, and Python's collector looks at
    # each object of a class every time it tidies up.
    written: tuple[tuple[str, int, int, tuple[str, ...]], ...]
    stems: frozenset[str]
    sequence: tuple[str, ...]
    clauses: tuple[int, ...]
    numbers: tuple[Number, ...]
    header: frozenset[str] = frozenset()

    @property
    def words(self) -> tuple[Word, ...]:
        return tuple(Word(*each) for each in self.written)


@dataclass(frozen=True, eq=False)
class Evidence:
    text: str
    bare: str
    pieces: tuple[Piece, ...]
    units: tuple[Unit, ...]
    bag: frozenset[str]
    # The units that have a stem, and the rows whose header has it.
    places: dict[str, tuple[int, ...]]
    headed: dict[str, tuple[int, ...]]
    heading: frozenset[str]
    initials: str
    capitals: str
    names: frozenset[str]
    tokens: tuple[tuple[str, int, int], ...]
    # Numbers of the tokens a unit may begin or end with.
    opening: dict[str, tuple[int, ...]]
    closing: frozenset[int]
    counts: frozenset[str]


@lru_cache(maxsize=512)  # as many as a hundred readers at once have before them
def parse_evidence(text: str, language: str) -> Evidence:
    text = without_instructions(text)
    plain = bare(text)
    pieces = _pieces(text)
    words = words_of(plain, language)
    numbers = numbers_of(plain)
    units = tuple(_units(text, pieces, words, numbers))
    tokens = tokens_of(plain)
    opening, closing = _edges(tokens, units)
    bag = {stem for word in words for stem in word.stems} | set(_joined(plain))
    return Evidence(
        text=text,
        bare=plain,
        pieces=tuple(pieces),
        units=units,
        bag=frozenset(bag),
        places=_places([unit.stems for unit in units]),
        headed=_places([unit.header for unit in units]),
        heading=frozenset(s for unit in units if unit.kind == "heading" for s in unit.stems),
        initials="".join(word.text[0] for word in words),
        capitals="".join(
            letter.lower() if letter.isupper() else " " for letter in _first(plain, words)
        ),
        names=frozenset(_names(plain, units)),
        tokens=tuple(tokens),
        opening=opening,
        closing=closing,
        counts=_counts(pieces, units),
    )


def _pieces(text: str) -> list[Piece]:
    """A heading path on the first line is a piece of its own."""
    head = HEAD_LINE.match(text)
    if not head or head[0].rstrip().endswith(ENDS_SENTENCE):
        return pieces_of(text)
    start, end = trimmed(text, 0, head.end())
    rest = pieces_of(" " * head.end() + text[head.end() :])
    return [Piece("heading", start, end, -1), *rest]


def _units(
    text: str, pieces: list[Piece], words: list[Word], numbers: list[Number]
) -> Iterator[Unit]:
    starts = [word.start for word in words]
    number_starts = [number.start for number in numbers]
    for index, piece in enumerate(pieces):
        header: frozenset[str] = frozenset()
        for row, (start, end) in enumerate(_parts(text, piece)):
            own = words[bisect_left(starts, start) : bisect_right(starts, end - 1)]
            own_numbers = numbers[
                bisect_left(number_starts, start) : bisect_right(number_starts, end - 1)
            ]
            stems = frozenset(stem for word in own for stem in word.stems)
            yield Unit(
                piece.kind,
                start,
                end,
                index,
                piece.block,
                tuple((word.text, word.start, word.end, word.stems) for word in own),
                stems,
                *_in_clauses(own, own_numbers, text, piece.kind),
                tuple(own_numbers),
                header,
            )
            if piece.kind == "table" and row == 0:
                header = stems


def _places(stems: list[frozenset[str]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for index, some in enumerate(stems):
        for stem in some:
            found.setdefault(stem, []).append(index)
    return {stem: tuple(indices) for stem, indices in found.items()}


def _in_clauses(
    words: list[Word], numbers: list[Number], text: str, kind: PieceKind
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The stems in order, and the number of the statement each stands in. A row is one.
    Numbers are compared elsewhere."""
    inside = [(number.start, number.end) for number in numbers]
    sequence: list[str] = []
    clauses: list[int] = []
    clause = 0
    for index, word in enumerate(words):
        if index and kind != "table":
            between = text[words[index - 1].end : word.start]
            clause += bool(
                STATEMENT_END.search(between)
                or word.text in CONTRASTS
                or ("," in between and word.text in COORDINATORS)
            )
        if word.stems and not any(a <= word.start < b for a, b in inside):
            sequence.append(word.stems[0])
            clauses.append(clause)
    return tuple(sequence), tuple(clauses)


def _parts(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    if piece.kind == "table":
        for line in LINE.finditer(text, piece.start, piece.end):
            if not RULE.match(line[0]):
                yield trimmed(text, line.start(), line.end())
    elif piece.kind == "item":
        for line in LINE.finditer(text, piece.start, piece.end):
            yield from split_sentences(text, line.start(), line.end())
    else:
        yield piece.start, piece.end


def _edges(
    tokens: list[tuple[str, int, int]], units: tuple[Unit, ...]
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


def _joined(plain: str) -> Iterator[str]:
    for found in HYPHENED.finditer(plain):
        yield found[0].replace("-", "").lower()


def _first(plain: str, words: list[Word]) -> Iterator[str]:
    return (plain[word.start] for word in words)


def _names(plain: str, units: tuple[Unit, ...]) -> Iterator[str]:
    """Words that have a capital where no sentence begins."""
    for unit in units:
        for index, word in enumerate(unit.words):
            written = plain[word.start : word.end]
            if (index and written[0].isupper()) or sum(map(str.isupper, written)) > 1:
                yield word.text


def _counts(pieces: list[Piece], units: tuple[Unit, ...]) -> frozenset[str]:
    """How many items a list has or rows a table: "there are three ways" may be counted."""
    sizes: dict[int, int] = {}
    for piece in pieces:
        if piece.kind == "item":
            sizes[piece.block] = max(sizes.get(piece.block, 0), piece.order)
    for unit in units:
        if unit.kind == "table" and unit.header:
            sizes[unit.block] = sizes.get(unit.block, 0) + 1
    return frozenset(str(size) for size in sizes.values() if size > 1)
