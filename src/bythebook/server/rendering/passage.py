"""A passage of a book as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from bythebook.server.rendering.document import Document


def passage_html(text: str, stretches: Sequence[tuple[int, int]] = (), page: str = "") -> str:
    """The passage with `<mark>` around the stretches, which are offsets into `text`. A stretch
    that crosses elements gives several. Relative links are meant from `page`."""
    return Document(text, stretches=stretches, page=page).html()
