"""Passages of a page that is being switched: a reader sees it before or after, never half.

The embedded engine switches a page in one step. A server applies the same request in sequence, so
whoever meets two states of one page asks again, and in the end keeps the newer one.
"""

from __future__ import annotations

from collections.abc import Sequence

from bythebook.models.passage import Passage

SWITCHING_RETRIES = 5
SWITCHING_PAUSE = 0.02


def mixes_states(passages: Sequence[Passage]) -> bool:
    """Whether passages of one page come from two states of its file."""
    states: dict[str, str] = {}
    for passage in passages:
        place = passage.metadata
        if states.setdefault(place.source_file, place.source_file_hash) != place.source_file_hash:
            return True
    return False


def newest_states(passages: Sequence[Passage]) -> list[Passage]:
    """Of each page only what was written last."""
    newest: dict[str, Passage] = {}
    for passage in passages:
        known = newest.setdefault(passage.metadata.source_file, passage)
        if passage.metadata.updated_at > known.metadata.updated_at:
            newest[passage.metadata.source_file] = passage
    return [
        passage
        for passage in passages
        if passage.metadata.source_file_hash
        == newest[passage.metadata.source_file].metadata.source_file_hash
    ]


def without_repeats(passages: Sequence[Passage]) -> list[Passage]:
    """Of passages with the same text only the first stays."""
    first: dict[str, Passage] = {}
    for passage in passages:
        first.setdefault(passage.metadata.content_hash, passage)
    return list(first.values())
