"""Answers and refusals with embedders that nothing was fitted to: the reader decides."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from bythebook.library import sample_book
from server.running import running
from standins.embedding_server import EmbeddingServer, vector_of

pytestmark = pytest.mark.usefixtures("with_reader")

COVERED = (
    "What is a URDF?",
    "Which folders in my workspace can I throw away and shouldn't put into git?",
    "When should I use an action instead of a service?",
    "How do I make ros2 run find my new Python script?",
    "What is domain randomization?",
)
UNCOVERED = (
    "What does a Spot robot cost per month?",
    "How do I bake sourdough bread?",
    "Who won the election in 1948?",
    "How do I install ROS 2 on Windows 11?",
    "Which lidar does the book's author sell?",
)


def narrow(text: str, dimension: int) -> list[float]:
    """Words and what all texts share: no two of them are far from each other."""
    vector = [0.1] * dimension
    for word in text.lower().split():
        place = hashlib.sha256(word.strip(".,?!*`").encode()).digest()
        for at in range(0, 16, 2):
            sign = 1 if place[at + 16] % 2 else -1
            vector[int.from_bytes(place[at : at + 2]) % dimension] += sign
    return vector


@pytest.mark.parametrize("embed", [narrow, vector_of])
async def test_decisions_hold_with_vectors_of_another_kind(
    home: Path, embed: Callable[[str, int], list[float]]
) -> None:
    service = EmbeddingServer(embed=embed)
    service.start()
    try:
        async with running(
            home,
            embedder="openai",
            answerer="built-in",
            openai_api_key=SecretStr("right-key"),
            openai_base_url=f"{service.url}/v1",
        ) as up:
            await up.service.library.ingest(sample_book())
            refused = {
                question: (await up.ask(question)).json()["refused"]
                for question in (*COVERED, *UNCOVERED)
            }
    finally:
        service.stop()
    assert refused == {**dict.fromkeys(COVERED, False), **dict.fromkeys(UNCOVERED, True)}
