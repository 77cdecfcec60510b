"""Pieces that are quoted together or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from bythebook.quoting.material import HUGE, Material

BundleKind = Literal["sentence", "item", "list", "code", "table"]

# A fragment such as the label of a tab says nothing.
FEWEST_WORDS = 4
MOST_BEFORE = 2
CODE = re.compile(r"`[^`]*`|https?://\S+")
WORD = re.compile(r"[^\W\d_]{2,}")
ANNOUNCES = re.compile(r"\b(?:following|below|table|these|summari\w+|compar\w+)\b", re.IGNORECASE)
RULE = re.compile(r"^[\s:|-]+$")


@dataclass(frozen=True)
class Bundle:
    """`core` is what answers, `places` all that is shown with it, both places in one excerpt.
    `clear` says that a reader understands it on its own. `rows` are those of a table to show."""

    kind: BundleKind
    excerpt: int
    core: tuple[int, ...]
    places: tuple[int, ...]
    clear: bool = True
    rows: tuple[int, ...] = ()


def bundles_of(materials: Sequence[Material], with_long_code: bool) -> Iterator[Bundle]:
    """Everything an excerpt offers for quoting."""
    announced = {place for material in materials for place in material.brings}
    lists_seen: set[int] = set()
    for material in materials:
        if material.kind == "sentence" and quotable(material):
            yield from _sentence(materials, material, with_long_code)
        elif material.kind == "item" and material.words:
            if len(WORD.findall(CODE.sub("", material.shown))) >= FEWEST_WORDS:
                yield Bundle("item", material.excerpt, (material.at,), (material.at,))
            if material.block not in lists_seen:
                lists_seen.add(material.block)
                yield from _list(materials, material)
        elif material.kind == "code":
            if material.at not in announced and (with_long_code or material.lines <= HUGE):
                yield _block("code", materials, material)
        elif material.kind == "table":
            yield _block("table", materials, material)


def quotable(material: Material) -> bool:
    """A sentence, not a label, and not the announcement of something that isn't here."""
    if material.kind != "sentence" or material.shown.startswith("<"):
        return False
    if not material.complete:
        return material.words >= 2 * FEWEST_WORDS or bool(material.brings)
    if material.shown.rstrip("*_").endswith((":", "：")):
        return bool(material.brings)
    return material.words >= 2


def _sentence(
    materials: Sequence[Material], material: Material, with_long_code: bool
) -> Iterator[Bundle]:
    before, clear = _before(materials, material)
    asks = material.shown.rstrip('*_"”’)').endswith(("?", "？"))
    replies = _replies(materials, material) if asks else ()
    if asks and not replies:
        return
    brought = [materials[place] for place in material.brings]
    if any(piece.kind == "code" and piece.lines > HUGE for piece in brought) and not with_long_code:
        return
    kind: BundleKind = "sentence"
    if brought:
        if brought[0].kind == "item":
            return  # the list comes with its announcement
        kind = {"code": "code", "table": "table"}.get(brought[0].kind, "sentence")  # type: ignore[assignment]
    places = (*before, material.at, *replies, *material.brings)
    yield Bundle(kind, material.excerpt, (material.at, *material.brings), places, clear)


def _replies(materials: Sequence[Material], question: Material) -> tuple[int, ...]:
    """What the book answers to a question of its own: a bare yes or no with its reason."""
    replies: list[int] = []
    for piece in materials[question.at + 1 : question.at + 3]:
        if piece.block != question.block or piece.kind != "sentence":
            break
        replies.append(piece.at)
        if piece.words >= FEWEST_WORDS:
            break
    return tuple(replies)


def _before(materials: Sequence[Material], material: Material) -> tuple[tuple[int, ...], bool]:
    """The sentences that a sentence leans on, and whether they make it clear."""
    chain: list[int] = []
    current = material
    while current.refers_back:
        if current.needs is None or len(chain) == MOST_BEFORE:
            return tuple(reversed(chain)), False
        current = materials[current.needs]
        if current.kind == "sentence" and not quotable(current):
            return tuple(reversed(chain)), False
        chain.append(current.at)
    return tuple(reversed(chain)), True


def _list(materials: Sequence[Material], first: Material) -> Iterator[Bundle]:
    """A list with its announcement, or else under its heading."""
    items = tuple(m.at for m in materials if m.block == first.block)
    lead: tuple[int, ...] = ()
    if first.at and first.at in materials[first.at - 1].brings:
        before = materials[first.at - 1]
        lead = (*_before(materials, before)[0], before.at)
    elif first.heading is not None:
        lead = (first.heading,)
    after = items[-1] + 1
    code: tuple[int, ...] = ()
    if after < len(materials) and materials[after].kind == "code":
        code = (after,) if materials[after].lines <= HUGE else ()
    yield Bundle("list", first.excerpt, (*lead[-1:], *items, *code), (*lead, *items, *code))


def _block(
    kind: Literal["code", "table"], materials: Sequence[Material], block: Material
) -> Bundle:
    """A block without an announcement comes with the sentence directly before it."""
    core: tuple[int, ...] = (block.at,)
    places = core
    if block.at:
        before = materials[block.at - 1]
        fits = kind == "code" or ANNOUNCES.search(before.plain)
        if before.kind == "sentence" and quotable(before) and not before.brings and fits:
            core = (before.at, block.at)
            places = (*_before(materials, before)[0], *core)
        elif before.kind == "heading":
            places = (before.at, block.at)
    return Bundle(kind, block.excerpt, core, places)


def rows_of(table: str) -> tuple[list[str], list[str]]:
    """The head of a table with the rule below it, and its rows."""
    lines = table.splitlines()
    ruled = next((at for at, line in enumerate(lines[:3]) if RULE.match(line)), None)
    cut = 0 if ruled is None else ruled + 1
    return lines[:cut], lines[cut:]
