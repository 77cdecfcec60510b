"""What was asked lately is not embedded again."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from bythebook.embedding import recent
from bythebook.embedding.minilm import MiniLM
from bythebook.embedding.recent import RecentQueries


async def test_the_last_questions_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MOST", 2)
    asked: list[str] = []

    async def embed(text: str) -> NDArray[np.float32]:
        asked.append(text)
        return np.array([len(text)], np.float32)

    queries = RecentQueries(embed)
    for text in ("one", "three", "one", "eleven", "one", "three"):
        assert (await queries.vector(text)).tolist() == [len(text)]
    assert asked == ["one", "three", "eleven", "three"], (
        "only the one not asked for longest is gone"
    )


async def test_a_question_has_the_same_vector_each_time() -> None:
    embedder = MiniLM(threads=1)
    first = await embedder.embed_query("What is a node?")
    again = await embedder.embed_query("What is a node?")
    assert again is first and not first.flags.writeable
    assert (first != await embedder.embed_query("What is an edge?")).any()
    await embedder.close()
