"""The verifier with the real reader."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from bythebook.grounding.verifier import Verdict, Verifier
from bythebook.models.passage import Passage
from bythebook.reader import Reader
from bythebook.settings import Settings

Check = Callable[..., Awaitable[Verdict]]


@pytest.fixture
async def check(with_reader: None) -> AsyncIterator[Check]:
    """A claim against a passage, judged with the reader."""
    async with Reader.open(Settings()) as reader:

        async def checked(
            claim: str, passage: Passage | str, language: str = "en", question: str = ""
        ) -> Verdict:
            return await Verifier(reader, language, question).check(claim, passage)

        yield checked
