"""What can be named as evidence, and the stretches in which a long passage is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bythebook.language.pieces import pieces_of, rows_of

# The network was trained on stretches of so many word pieces, each repeating the last of the one
# before.
WINDOW, OVERLAP = 320, 32


def windows(length: int, size: int = WINDOW, overlap: int = OVERLAP) -> list[tuple[int, int]]:
    """As few even stretches as hold all pieces, each repeating the end of the one before."""
    if length <= size:
        return [(0, length)]
    count = -(-(length - overlap) // (size - overlap))
    edges = [(length - overlap) * number // count for number in range(count + 1)]
    return [(start, end + overlap) for start, end in pairwise(edges)]


def evidence_units(text: str) -> list[tuple[int, int]]:
    """Ranges of sentences, list items, table rows and code blocks, in reading order."""
    ranges: list[tuple[int, int]] = []
    for piece in pieces_of(text):
        if piece.kind == "table":
            ranges += rows_of(text, piece)
        elif piece.kind != "heading":
            ranges.append((piece.start, piece.end))
    return ranges


def unit_scores(
    text: str, characters: Sequence[tuple[int, int]], likely: Sequence[float]
) -> Iterator[tuple[int, int, float]]:
    """Each unit with the mean of what is said of its word pieces."""
    place = 0
    for start, end in evidence_units(text):
        while place < len(likely) and characters[place][0] < start:
            place += 1
        first = place
        while place < len(likely) and characters[place][0] < end:
            place += 1
        if place > first:
            yield start, end, sum(likely[first:place]) / (place - first)
