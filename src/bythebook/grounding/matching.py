"""How much of a claim's words a passage has, and in which stretch of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul

from bythebook.grounding.evidence import Evidence
from bythebook.grounding.lexicon import light_stems, same_meaning
from bythebook.grounding.words import Word

WINDOW = 3
SYNONYM, PREFIX, PARTS, CONTEXT = 0.85, 0.8, 0.95, 0.9
LIGHT = 0.25
# A longer stretch has to bring more words.
PER_UNIT = 0.02
# A word that stands more often than this in three sentences is not what they are told apart by.
MOST_PLACES = 20


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a claim that carries meaning."""

    word: str
    start: int
    stems: tuple[str, ...]
    weight: float


@dataclass(frozen=True)
class Stretch:
    """Units `first` to `last`; `quality` says for each term how well it is found there."""

    first: int
    last: int
    quality: tuple[float, ...]
    coverage: float


def terms_of(words: Sequence[Word], text: str, language: str, known: frozenset[str]) -> list[Term]:
    """`known` are stems of the question: their absence says less."""
    light = light_stems() if language.startswith("en") else frozenset()
    found = []
    for word in words:
        if word.is_ideographic:
            found += [
                Term(stem, word.start, (stem,), 0.5 if stem in known else 1.0)
                for stem in word.stems
            ]
        elif word.stems:
            weight = 0.4 + 0.1 * min(len(word.text), 10)
            if text[word.start].isupper():
                weight += 0.3
            if word.stems[0] in light:
                weight = LIGHT
            elif word.stems[0] in known:
                weight *= 0.6
            found.append(Term(word.text, word.start, word.stems, weight))
    return found


def alternatives(term: Term, evidence: Evidence, language: str) -> dict[str, float]:
    """Stems of the evidence that stand for a term, and how surely."""
    stem = term.stems[0]
    found: dict[str, float] = {}
    if language.startswith("en"):
        found = dict.fromkeys(_synonyms(stem) & evidence.bag, SYNONYM)
    if stem in evidence.bag:
        found[stem] = 1.0
    if found:
        return found
    if stem.startswith("re") and stem[2:] in evidence.bag:
        return {stem[2:]: SYNONYM}
    parts = term.stems[1:]
    if parts and all(part in evidence.bag for part in parts):
        return dict.fromkeys(parts, PARTS)
    return dict.fromkeys(_with_same_beginning(stem, evidence.bag), PREFIX)


@lru_cache(maxsize=20_000)
def _synonyms(stem: str) -> frozenset[str]:
    """Stems of the same meaning as the word, its comparative or its superlative, and these."""
    found: set[str] = set()
    for base in _degrees(stem):
        found |= same_meaning().get(base, frozenset())
        found.update(_degrees(base))
    return frozenset(found - {stem})


def _degrees(stem: str) -> Iterator[str]:
    """A word, what it is the comparative or superlative of, and its own ones."""
    yield stem
    for ending in ("er", "est", "ier", "iest"):
        if stem.endswith(ending) and len(stem) - len(ending) > 2:
            yield stem.removesuffix(ending)
        yield stem + ending


def _with_same_beginning(stem: str, bag: frozenset[str]) -> Iterator[str]:
    if len(stem) < 5 or not stem.isalpha():
        return
    for other in bag:
        if other[:5] != stem[:5] or not other.isalpha():
            continue
        shared = next(
            (i for i, (a, b) in enumerate(zip(stem, other, strict=False)) if a != b),
            min(len(stem), len(other)),
        )
        if shared >= 6 or max(len(stem), len(other)) - shared <= 2:
            yield other


def rows_of(options: Sequence[dict[str, float]], evidence: Evidence) -> list[list[float]]:
    """For each unit how well it has each term; of a table's row its header counts too."""
    rows = [[0.0] * len(options) for _ in evidence.units]
    for index, option in enumerate(options):
        for stem, quality in option.items():
            for places, value in (
                (evidence.places.get(stem, ()), quality),
                (evidence.headed.get(stem, ()), quality * CONTEXT),
            ):
                for at in places:
                    if rows[at][index] < value:
                        rows[at][index] = value
    return rows


def best_stretch(
    terms: Sequence[Term],
    options: Sequence[dict[str, float]],
    rows: Sequence[Sequence[float]],
    heading: frozenset[str],
    width: int,
) -> Stretch:
    """The shortest run of units that has most of the terms; headings count for every unit."""
    weights = [term.weight for term in terms]
    total = sum(weights) or 1.0
    context = [
        CONTEXT * max((q for stem, q in option.items() if stem in heading), default=0.0)
        for option in options
    ]
    best = Stretch(0, 0, tuple(0.0 for _ in terms), 0.0)
    best_value = 0.0
    for first in range(len(rows)):
        if not any(rows[first]):
            continue
        quality = context
        for last in range(first, min(first + width, len(rows))):
            quality = [a if a > b else b for a, b in zip(quality, rows[last], strict=True)]
            found = sum(map(mul, weights, quality))
            value = found / total - PER_UNIT * (last - first)
            if value > best_value:
                best_value = value
                best = Stretch(first, last, tuple(quality), found / total)
    return best


def common_order(options: Sequence[dict[str, float]], sequence: Sequence[str]) -> int:
    """Length of the longest run of terms found in the same order, others between them allowed."""
    lengths = [0] * (len(sequence) + 1)
    for option in options:
        if not option:
            continue
        diagonal = 0
        for index, stem in enumerate(sequence, start=1):
            above = lengths[index]
            if stem in option:
                lengths[index] = max(above, diagonal + 1)
            elif lengths[index - 1] > above:
                lengths[index] = lengths[index - 1]
            diagonal = above
    return lengths[-1]


def splices(
    options: Sequence[dict[str, float]],
    sequence: Sequence[str],
    clauses: Sequence[tuple[int, int]],
    groups: Sequence[int],
) -> int:
    """How often a claim leaves a clause before its end and goes on inside another behind its
    beginning: the head of one statement with the tail of another. Only statements of one sentence,
    list or table (`groups`) are alternatives; sentences may well go on from each other."""
    found: set[str] = set().union(*(option.keys() for option in options)) if options else set()
    light = light_stems()
    left_out = [i for i, stem in enumerate(sequence) if stem not in found and stem not in light]
    tail = {clauses[i]: i for i in left_out}
    head = {clauses[i]: i for i in reversed(left_out)}
    costs: dict[int, int] = {}
    for option in options:
        places = [i for i, stem in enumerate(sequence) if stem in option][:MOST_PLACES]
        if not places:
            continue
        costs = {
            q: min(
                (
                    cost
                    + (
                        clauses[p] != clauses[q]
                        and groups[clauses[p][0]] == groups[clauses[q][0]]
                        and tail.get(clauses[p], -1) > p
                        and head.get(clauses[q], q) < q
                    )
                    for p, cost in costs.items()
                ),
                default=0,
            )
            for q in places
        }
    return min(costs.values(), default=0)
