"""What was asked lately is not embedded again."""

from __future__ import annotations

from array import array

import pytest

from bythebook.embedding import embedder
from bythebook.embedding.embedder import MiniLM, Recent


async def test_the_last_questions_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "MOST", 2)
    asked: list[str] = []

    async def embed(text: str) -> array[float]:
        asked.append(text)
        return array("f", [len(text)])

    queries = Recent(embed)
    for text in ("one", "three", "one", "eleven", "one", "three"):
        assert (await queries.get(text)).tolist() == [len(text)]
    assert asked == ["one", "three", "eleven", "three"], (
        "only the one not asked for longest is gone"
    )


async def test_a_question_has_the_same_vector_each_time() -> None:
    embedder = MiniLM(threads=1)
    first = await embedder.embed_query("What is a node?")
    again = await embedder.embed_query("What is a node?")
    assert again is first != await embedder.embed_query("What is an edge?")
    await embedder.close()
