"""Chosen pieces as Markdown, each with its marker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bythebook.quoting.bundle import rows_of
from bythebook.quoting.material import Material, sub_items
from bythebook.quoting.selecting import Selection


def rendered(chosen: Selection) -> str:
    """Excerpts in the order they were chosen, the pieces of each in the book's order."""
    parts: list[str] = []
    for excerpt in chosen.order:
        number = chosen.scorer.excerpts[excerpt].number
        materials = chosen.scorer.materials[excerpt]
        pieces = [materials[place] for place in sorted(chosen.places[excerpt])]
        parts += _blocks(pieces, f"[{number}]", chosen)
    return "\n\n".join(parts)


def _blocks(pieces: Sequence[Material], marker: str, chosen: Selection) -> Iterator[str]:
    for at, group in enumerate(groups := list(_groups(pieces))):
        first = group[0]
        if first.kind in ("sentence", "math"):
            yield " ".join(f"{piece.shown} {marker}" for piece in group)
        elif first.kind == "heading":
            yield f"**{first.shown.replace('**', '')}** {marker}"
        elif first.kind == "item":
            yield "\n".join(line for piece in group for line in _item(piece, marker, len(group)))
        else:
            rows = chosen.rows.get((first.excerpt, first.at), ())
            block = _table(first, rows) if first.kind == "table" else first.shown
            before = groups[at - 1][-1] if at else None
            introduced = before and (before.at == first.at - 1 or first.at in before.brings)
            yield block if introduced else f"{block}\n\n{marker}"


def _groups(pieces: Sequence[Material]) -> Iterator[list[Material]]:
    """Sentences of one paragraph, items of one list; anything else stands alone."""
    group: list[Material] = []
    for piece in pieces:
        together = piece.kind in ("sentence", "item") and group and group[-1].kind == piece.kind
        if group and not (together and group[-1].block == piece.block):
            yield group
            group = []
        group.append(piece)
    if group:
        yield group


def _item(piece: Material, marker: str, of: int) -> Iterator[str]:
    """An item alone has no use for its number."""
    for at, (mark, words) in enumerate(sub_items(piece)):
        yield f"{'- ' if at == 0 and of == 1 else mark}{words} {marker}"


def _table(piece: Material, rows: Sequence[int]) -> str:
    head, body = rows_of(piece.shown)
    return "\n".join([*head, *(body[row] for row in rows)])
