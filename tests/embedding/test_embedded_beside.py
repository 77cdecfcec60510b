"""Documents embedded in processes of their own: the same vectors."""

from __future__ import annotations

import asyncio

from booktext import TOPICS
from bythebook.embedding.embedder import MiniLM
from bythebook.runtime import Processes

TEXTS = list(TOPICS.values())


async def test_the_vectors_are_the_same() -> None:
    embedder, processes = MiniLM(threads=2), Processes(2)
    alone = await embedder.embed_documents(TEXTS)
    embedder.stay_in(processes)
    beside, _ = await asyncio.gather(
        embedder.embed_documents(TEXTS * 2),
        asyncio.gather(*(embedder.embed_query("What is a node?") for _ in range(20))),
    )
    assert beside == alone * 2
    assert embedder.texts_embedded == 3 * len(TEXTS)
    await embedder.close()
    await processes.close()
