"""An assistant over the sample book, with the language model a test tells it to have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bythebook.agent.assistant import Assistant
from bythebook.library import Library
from bythebook.settings import Settings
from standins.llm_server import LlmServer

Assistants = Callable[..., Any]


@pytest.fixture(params=[True, False], ids=["stream", "whole"])
def streaming(request: pytest.FixtureRequest) -> bool:
    """Whether the language model is asked to stream."""
    return bool(request.param)


@asynccontextmanager
async def assistant_of(home: Path, **settings: Any) -> AsyncIterator[Assistant]:
    async with (
        await Library.open(Settings(home=home, **settings)) as library,
        Assistant(library) as assistant,
    ):
        yield assistant


@pytest.fixture
def with_llm(sample_home: Path, llm: LlmServer) -> Assistants:
    """`async with with_llm(setting=…) as assistant`; attempts follow each other quickly."""

    def make(**settings: Any) -> Any:
        quick = {"openai_base_url": llm.base_url, "openai_model": "stand-in", "retry_delay": 0.01}
        return assistant_of(sample_home, **{**quick, **settings})

    return make


@pytest.fixture
def built_in(sample_home: Path) -> Assistants:
    def make(**settings: Any) -> Any:
        return assistant_of(sample_home, **settings)

    return make
