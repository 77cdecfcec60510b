"""Which bundles to quote, and how much of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bythebook.index.sparse import terms
from bythebook.quoting.bundle import Bundle, rows_of
from bythebook.quoting.cues import sign_of
from bythebook.quoting.cutting import MOST_WORDS, cut_to_fit, words_of_rows
from bythebook.quoting.likeness import contradicts, same_words
from bythebook.quoting.material import Material
from bythebook.quoting.question import Asked, Kind
from bythebook.quoting.scoring import Scorer

# What a block gains or loses against a sentence that fits as well, by what is asked for.
LIST_GAIN: dict[Kind, float] = {"list": 0.35, "how": 0.35}
CODE_GAIN: dict[Kind, float] = {"code": 0.6, "how": 0.25}
TABLE_GAIN: dict[Kind, float] = {
    "list": 0.2, "comparison": 0.1, "number": 0.0, "definition": -0.1, "yes_no": -0.1, "code": -0.1,
}  # fmt: skip
OTHERWISE = -0.35
# How far below the best a further piece may score, and how many pieces there may be.
MARGIN: dict[Kind, float] = {
    "number": 0.25, "yes_no": 0.25, "who": 0.25, "when": 0.25, "code": 0.2,
}  # fmt: skip
USUAL_MARGIN = 0.45
PIECES: dict[Kind, int] = {"number": 2, "yes_no": 2, "who": 2, "when": 2, "where": 3}
USUAL_PIECES = 4
# An excerpt with a smaller share of the question's words is about something else.
TOO_LITTLE = 0.3
# … unless its meaning is this close.
CLOSE_IN_MEANING = 0.5
UNCLEAR = 0.4
ELSEWHERE = 0.2
LEANING = 0.03
ONE_STEP = 0.15
SCRAP = 0.15
FEWEST_WORDS = 5
UNINTRODUCED = 0.4
NAMED_IN_HEAD = 0.4
# So few words only open a topic: "The drawback is overhead."
OPENING = 8
EXPLAINED: tuple[Kind, ...] = ("definition", "comparison")
# A sentence with such a sign defines what is asked for: others would only dilute it.
DEFINED = 0.7
ONE_OF_TWO = re.compile(r"\b(?:first|second|former|latter|both|either)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Ranked:
    bundle: Bundle
    score: float


class Selection:
    """Chosen places of each excerpt, under one limit of words."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.places: dict[int, set[int]] = {}
        self.rows: dict[tuple[int, int], tuple[int, ...]] = {}
        self.order: list[int] = []
        self.words = 0

    def materials(self, bundle: Bundle) -> list[Material]:
        return [self.scorer.materials[bundle.excerpt][place] for place in bundle.places]

    def new_places(self, bundle: Bundle) -> list[Material]:
        chosen = self.places.get(bundle.excerpt, set())
        return [piece for piece in self.materials(bundle) if piece.at not in chosen]

    def chosen(self) -> Iterable[Material]:
        for excerpt, places in self.places.items():
            for place in sorted(places):
                yield self.scorer.materials[excerpt][place]

    def fits(self, bundle: Bundle) -> bool:
        return self.words + self._cost(bundle) <= MOST_WORDS

    def add(self, bundle: Bundle) -> None:
        self.words += self._cost(bundle)
        self.places.setdefault(bundle.excerpt, set()).update(bundle.places)
        if bundle.excerpt not in self.order:
            self.order.append(bundle.excerpt)
        if bundle.rows:
            self.rows[bundle.excerpt, bundle.core[-1]] = bundle.rows

    def _cost(self, bundle: Bundle) -> int:
        return sum(
            words_of_rows(piece, bundle.rows) if piece.kind == "table" else piece.words
            for piece in self.new_places(bundle)
        )


def rank(scorer: Scorer, asked: Asked, bundles: Sequence[Bundle]) -> list[Ranked]:
    """Bundles, best first; lists and tables cut to what is asked for."""
    ranked = []
    for bundle in bundles:
        fitting = cut_to_fit(scorer, asked, bundle)
        if fitting is not None and _speaks_of(scorer, asked, fitting):
            ranked.append(Ranked(fitting, _score(scorer, asked, fitting)))
    return sorted(ranked, key=lambda one: (-one.score, one.bundle.excerpt, one.bundle.core))


def _speaks_of(scorer: Scorer, asked: Asked, bundle: Bundle) -> bool:
    """Whether the excerpt is about what is asked and something of it stands at the bundle."""
    pieces = [scorer.materials[bundle.excerpt][place] for place in bundle.places]
    near = frozenset[str]().union(*(piece.stems | scorer.around(piece) for piece in pieces))
    asks = set(asked.terms) - asked.asking
    if scorer.means(bundle.excerpt) >= CLOSE_IN_MEANING:
        return True
    return bool(asks & near) and scorer.mentioned(asked, bundle.excerpt) >= TOO_LITTLE


def _score(scorer: Scorer, asked: Asked, bundle: Bundle) -> float:
    pieces = [scorer.materials[bundle.excerpt][place] for place in bundle.core]
    if bundle.kind in ("sentence", "item"):
        score = scorer.score(asked, pieces[0])
        score -= LEANING * (len(bundle.places) - len(bundle.core))
        if bundle.kind == "item" and pieces[0].number:
            score -= ONE_STEP
        if pieces[0].words < FEWEST_WORDS:
            score -= SCRAP
        return score if bundle.clear else score - UNCLEAR
    lead = [piece for piece in pieces if piece.kind in ("sentence", "heading")]
    body = [piece for piece in pieces if piece not in lead]
    held = scorer.coverage(asked, frozenset[str]().union(*(piece.stems for piece in pieces)))
    best = max(scorer.score(asked, piece) for piece in pieces)
    led = scorer.score(asked, lead[-1]) if lead else best
    if bundle.kind == "table":
        headed = _headed(body[0], scorer.language)
        led = max(led, scorer.score(asked, headed))
        if asked.kind == "list" and asked.subject and headed.stems.issuperset(asked.subject):
            led += NAMED_IN_HEAD
    elif not lead:
        led -= UNINTRODUCED
    gain = _gain(asked, bundle)
    near = scorer.coverage(asked, scorer.heading(body[0]).union(*(p.stems for p in pieces)))
    score = 0.6 * led + 0.25 * best + 0.25 * held + gain * (min(1.0, 2 * near) if gain > 0 else 1)
    if bundle.kind == "list" and asked.kind == "how" and not body[0].number:
        score -= 0.15
    return score


def _headed(table: Material, language: str) -> Material:
    """A table by the words of its head: they say what it lists."""
    head, _ = rows_of(table.shown)
    return replace(table, stems=frozenset(terms(" ".join(head), language)))


def select(scorer: Scorer, asked: Sequence[Asked], bundles: Sequence[Bundle]) -> Selection:
    """The best bundle of each part of the question, then what else is nearly as good."""
    chosen = Selection(scorer)
    rankings = [(part, rank(scorer, part, bundles)) for part in asked]
    for part, ranked in rankings:
        near = [one for one in ranked if one.score >= ranked[0].score - USUAL_MARGIN]
        new = [one for one in near if chosen.fits(one.bundle) and not repeats(chosen, one.bundle)]
        # What can't be understood alone begins an answer only where nothing else could.
        for one in sorted(new, key=lambda one: not one.bundle.clear)[:1]:
            chosen.add(one.bundle)
            _go_on(chosen, part, one.bundle)
    for part, ranked in rankings:
        _add_more(chosen, part, ranked, len(asked))
    return chosen


def _add_more(chosen: Selection, part: Asked, ranked: Sequence[Ranked], parts: int) -> None:
    if not ranked:
        return
    best = ranked[0]
    margin = MARGIN.get(part.kind, USUAL_MARGIN) / parts
    settled = part.kind == "definition" and _sign(chosen.scorer, part, best.bundle) >= DEFINED
    for one in ranked[1:]:
        elsewhere = ELSEWHERE if one.bundle.excerpt != best.bundle.excerpt else 0.0
        if one.score - elsewhere < best.score - margin or not chosen.fits(one.bundle):
            continue
        dilutes = settled and _sign(chosen.scorer, part, one.bundle) < DEFINED
        if dilutes or not one.bundle.clear:
            continue
        if _is_block(one.bundle) and _gain(part, one.bundle) <= 0:
            continue
        full = pieces_in(chosen) >= PIECES.get(part.kind, USUAL_PIECES)
        if full and not is_contradicted(chosen, one.bundle):
            continue
        if not repeats(chosen, one.bundle):
            chosen.add(one.bundle)


def _is_block(bundle: Bundle) -> bool:
    return bundle.kind in ("list", "code", "table")


def _gain(asked: Asked, bundle: Bundle) -> float:
    gains = {"list": LIST_GAIN, "code": CODE_GAIN, "table": TABLE_GAIN}
    return gains[bundle.kind].get(asked.kind, OTHERWISE) if _is_block(bundle) else 0.0


def _sign(scorer: Scorer, asked: Asked, bundle: Bundle) -> float:
    return sign_of(asked, scorer.materials[bundle.excerpt][bundle.core[0]], scorer.language)


def _go_on(chosen: Selection, asked: Asked, bundle: Bundle) -> None:
    """What a definition, a comparison, or a sentence that only opens a topic is followed by."""
    if bundle.kind != "sentence":
        return
    materials = chosen.scorer.materials[bundle.excerpt]
    first = materials[bundle.core[0]]
    explained = asked.kind in EXPLAINED
    opens = first.words <= OPENING and asked.kind in ("list", "why", "how", "other", *EXPLAINED)
    heading = chosen.scorer.heading(first)
    listed = asked.kind == "list" and bool(asked.subject) and heading.issuperset(asked.subject)
    about = set(asked.subject).union(*(asked.sides or ()))
    needed = len(about) // 2 + 1 if asked.subject else 1
    for piece in materials[first.at + 1 : first.at + (4 if listed else 3)]:
        if piece.block != first.block or piece.brings or not piece.complete:
            break
        joined = piece.refers_back or ONE_OF_TWO.search(piece.plain)
        wanted = explained and (joined or len(about & piece.stems) >= needed)
        if not (wanted or opens or listed):
            break
        if chosen.words + piece.words > MOST_WORDS * 2 // 3:
            break
        chosen.add(Bundle("sentence", bundle.excerpt, (piece.at,), (piece.at,)))


def pieces_in(chosen: Selection) -> int:
    """Sentences and blocks; a list counts once."""
    return len({(m.excerpt, m.block if m.kind == "item" else -m.at) for m in chosen.chosen()})


def repeats(chosen: Selection, bundle: Bundle) -> bool:
    """Whether it brings nothing new: chosen already, or there in nearly the same words."""
    old = list(chosen.chosen())
    core = [chosen.scorer.materials[bundle.excerpt][place] for place in bundle.core]
    return all(
        piece in old
        or any(
            same_words(piece.stems, other.stems) and not contradicts(piece, other) for other in old
        )
        for piece in core
    )


def is_contradicted(chosen: Selection, bundle: Bundle) -> bool:
    core = [chosen.scorer.materials[bundle.excerpt][place] for place in bundle.core]
    return any(
        contradicts(piece, other)
        for piece in core
        for other in chosen.chosen()
        if other.excerpt != piece.excerpt
    )
