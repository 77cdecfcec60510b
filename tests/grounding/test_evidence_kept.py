"""What is kept of a passage between two claims is little work for Python's collector."""

from __future__ import annotations

import gc

from bythebook.grounding.evidence import parse_evidence


def test_the_collector_leaves_the_words_alone() -> None:
    units = parse_evidence("A node publishes messages. A topic carries them to others.", "en").units
    for _ in range(3):  # what holds only untracked things is let go one level at a time
        gc.collect()
    kept = [word for unit in units for word in unit.written]
    assert len(kept) == 10
    assert not any(gc.is_tracked(word) for word in kept)
    assert [word.text for word in units[0].words] == ["a", "node", "publishes", "messages"]
