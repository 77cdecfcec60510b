"""Words that stand together in a question stand together in the passage that answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from bythebook.index.sparse import TERM, terms
from bythebook.retrieval.query import weight_as_written

# What all pairs of a question add to the evidence of a passage that has them.
PROXIMITY_WEIGHT = 0.2
# Characters from the end of one word's beginning to the next word: its ending, an article.
REACH = 12
# Pairs that weigh less in all are of words that the book has everywhere, and hardly tell.
LEAST_WEIGHT = 0.25
# A shorter beginning is that of too many words.
LEAST_BEGINNING = 3


class WordPair(NamedTuple):
    """What two neighbours among a question's words begin with, and how much they weigh."""

    first: str
    second: str
    weight: float


def pairs_in(question: str, language: str, weights: Mapping[int, float]) -> list[WordPair]:
    """Neighbours among the words of a question that are asked about: those with a weight. Two that
    the book has everywhere weigh next to nothing."""
    words: list[tuple[str, float]] = []
    for word in TERM.findall(question):
        weight = weight_as_written(word, language, weights)
        if weight:
            words.append((_beginning(word, language), weight))
    pairs = (WordPair(one, other, a * b) for (one, a), (other, b) in pairwise(words))
    return list(dict.fromkeys(pairs))


def proximity_of(pairs: Sequence[WordPair], text: str) -> float:
    """What the pairs add to the evidence of a passage with this text."""
    return PROXIMITY_WEIGHT * proximity_share(pairs, text)


def proximity_share(pairs: Sequence[WordPair], text: str) -> float:
    """The share of the pairs, by weight, that stand in a text one soon after the other."""
    whole = max(sum(pair.weight for pair in pairs), LEAST_WEIGHT)
    text = text.lower()
    return sum(pair.weight for pair in pairs if _are_near(pair, text)) / whole


def _beginning(word: str, language: str) -> str:
    """What all forms of a word begin with."""
    word = word.lower()
    stem = next(terms(word, language), word)
    same = (one == other for one, other in zip(word, stem, strict=False))
    common = word[: sum(takewhile(bool, same))]
    return common if len(common) >= LEAST_BEGINNING else word


def _are_near(pair: WordPair, text: str) -> bool:
    first, second, _ = pair
    if second not in text:
        return False
    at = text.find(first)
    while at >= 0:
        end = at + len(first)
        if _begins_word(text, at) and _has_word(second, text, end + 1, end + REACH + len(second)):
            return True
        at = text.find(first, end)
    return False


def _has_word(beginning: str, text: str, start: int, end: int) -> bool:
    at = text.find(beginning, start, end)
    while at >= 0 and not _begins_word(text, at):
        at = text.find(beginning, at + 1, end)
    return at >= 0


def _begins_word(text: str, at: int) -> bool:
    return not text[at - 1 : at].isalnum()
