"""An answer as HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from bythebook.models.citation import CitationEntry
from bythebook.server.rendering.document import CLOSE, OPEN, Document

PLACE = re.compile(f"{OPEN}(\\d+){CLOSE}")


def answer_html(text: str, citations: Sequence[CitationEntry]) -> str:
    """The answer, with a button for each marker `[n]` that has a citation."""
    pages = {citation.number: citation.source_url for citation in citations}
    titles = {citation.number: citation.section or citation.chapter for citation in citations}
    return _with_buttons(Document(text, pages=pages).html(), titles)


def unfinished_html(text: str, sources: int) -> str:
    """The answer so far: its citations are not known yet, only how many there can be."""
    pages = dict.fromkeys(range(1, sources + 1), "")
    return _with_buttons(Document(text, pages=pages).html(), {})


def _with_buttons(html: str, titles: Mapping[int, str]) -> str:
    """Made last: nothing that a text holds can look like one."""

    def button(found: re.Match[str]) -> str:
        number = int(found[1])
        title = titles.get(number)
        label = f"Source {number}: {title}" if title else f"Source {number}"
        return (
            f'<button type="button" class="cite" data-n="{number}" '
            f'aria-label="{escape(label)}">{number}</button>'
        )

    return PLACE.sub(button, html)
