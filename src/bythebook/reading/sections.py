"""A file as sections: each heading with the blocks below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bythebook.reading.anchors import Anchors, Flavor, plain_heading
from bythebook.reading.blocks import Block


@dataclass(frozen=True)
class Section:
    """`path` holds the headings from the page's title down to this one; the text before the first
    `##` has no heading of its own and no anchor."""

    path: tuple[str, ...]
    level: int
    anchor: str
    blocks: tuple[Block, ...]

    @property
    def title(self) -> str | None:
        return self.path[-1] if len(self.path) > 1 else None


def split_sections(blocks: Sequence[Block], title: str, flavor: Flavor) -> list[Section]:
    """Sections in order; together they hold every block exactly once."""
    anchors = Anchors(flavor)
    sections: list[Section] = []
    above: list[tuple[int, str]] = []
    seen_heading = False
    path: tuple[str, ...] = (title,)
    level, anchor = 1, ""
    current: list[Block] = []
    for block in blocks:
        if block.kind == "heading":
            if current:
                sections.append(Section(path, level, anchor, tuple(current)))
            current = []
            heading = plain_heading(block.text)
            level = block.level
            is_title = level == 1 and not seen_heading
            seen_heading = True
            own_anchor = anchors.next(block.text, block.explicit_id)
            anchor = "" if is_title else own_anchor
            above = [entry for entry in above if entry[0] < level]
            if heading and not is_title:
                above.append((level, heading))
            path = (title, *(text for _, text in above))
        current.append(block)
    if current:
        sections.append(Section(path, level, anchor, tuple(current)))
    return sections
