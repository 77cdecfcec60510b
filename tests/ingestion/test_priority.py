"""An ingest lets questions go first, and its vectors don't know."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import AsyncIterator

import pytest

from booktext import TOPICS
from bythebook.embedding.minilm import LAST, MiniLM

TEXTS = list(TOPICS.values())

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux gives threads priorities of their own"
)


@pytest.fixture
async def embedder() -> AsyncIterator[MiniLM]:
    made = MiniLM(threads=2)
    yield made
    await made.close()


def priorities(name: str) -> set[int]:
    return {
        os.getpriority(os.PRIO_PROCESS, thread.native_id or 0)
        for thread in threading.enumerate()
        if thread.name.startswith(name)
    }


async def test_documents_step_back_once_there_are_questions(embedder: MiniLM) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    alone = await embedder.embed_documents(TEXTS)
    assert priorities("embed-documents") == {own}, "an ingest alone has the machine to itself"
    await embedder.embed_query("What is a node?")
    beside = await embedder.embed_documents(TEXTS * 4)
    assert priorities("embed-documents") == {LAST}
    assert priorities("embed-query") == {own}
    assert beside.tobytes() == alone.tobytes() * 4
