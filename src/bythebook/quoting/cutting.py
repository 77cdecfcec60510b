"""How much of a list or table to quote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bythebook.index.sparse import terms
from bythebook.models.chunk import count_words
from bythebook.quoting.bundle import Bundle, rows_of
from bythebook.quoting.material import Material
from bythebook.quoting.question import Asked
from bythebook.quoting.scoring import Scorer

MOST_WORDS = 120
MOST_ITEMS = 9


def cut_to_fit(scorer: Scorer, asked: Asked, bundle: Bundle) -> Bundle | None:
    """The bundle with as much of its list or table as is wanted; None if it is too long."""
    if bundle.kind == "list":
        return _cut_list(scorer, asked, bundle)
    if bundle.kind == "table":
        return _cut_table(scorer, asked, bundle)
    words = sum(scorer.materials[bundle.excerpt][place].words for place in bundle.places)
    return bundle if words <= MOST_WORDS else None


def _cut_list(scorer: Scorer, asked: Asked, bundle: Bundle) -> Bundle | None:
    """The whole list if it is short; the first steps, or the items that fit the question best."""
    materials = scorer.materials[bundle.excerpt]
    pieces = [materials[place] for place in bundle.places]
    items = [piece for piece in pieces if piece.kind == "item"]
    left = MOST_WORDS - sum(piece.words for piece in pieces if piece.kind != "item")
    wanted = items
    if not items[0].number:
        wanted = sorted(items, key=lambda item: -scorer.score(asked, item))
        if sum(item.words for item in items) <= left and len(items) <= MOST_ITEMS:
            wanted = items
    kept: list[int] = []
    for item in wanted[:MOST_ITEMS]:
        left -= item.words
        if left < 0:
            break
        kept.append(item.at)
    if len(kept) < min(2, len(items)):
        return None
    dropped = {item.at for item in items} - set(kept)
    if not asked.wants_code:
        dropped |= {piece.at for piece in pieces if piece.kind == "code"}
    return replace(
        bundle,
        core=tuple(place for place in bundle.core if place not in dropped),
        places=tuple(place for place in bundle.places if place not in dropped),
    )


def _cut_table(scorer: Scorer, asked: Asked, bundle: Bundle) -> Bundle | None:
    """All rows where a list or comparison is wanted and they are few, else those that fit."""
    materials = scorer.materials[bundle.excerpt]
    table = next(materials[place] for place in bundle.core if materials[place].kind == "table")
    head, body = rows_of(table.shown)
    if not body:
        return None
    scores = [scorer.coverage(asked, terms(row, scorer.language)) for row in body]
    best = max(scores)
    rows = list(range(len(body)))
    in_head = asked.sides and all(
        side & set(terms(head[0], scorer.language)) for side in asked.sides if head
    )
    if (asked.kind != "list" and not in_head) or len(body) > MOST_ITEMS:
        rows = [row for row in rows if best and scores[row] >= 0.7 * best]
    if asked.sides and not in_head:
        told = set(terms(" ".join(body[row] for row in rows), scorer.language))
        if not all(side & told for side in asked.sides):
            return None
    left = MOST_WORDS - sum(materials[p].words for p in bundle.places if p != table.at)
    left -= count_words(head[0]) if head else 0
    kept: list[int] = []
    for row in rows[:MOST_ITEMS]:
        left -= count_words(body[row])
        if left < 0:
            break
        kept.append(row)
    return replace(bundle, rows=tuple(kept)) if kept else None


def words_of_rows(table: Material, rows: Sequence[int]) -> int:
    head, body = rows_of(table.shown)
    return sum(count_words(line) for line in [*head[:1], *(body[row] for row in rows)])
