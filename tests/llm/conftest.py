"""A real language model for the tests of `make test-llm`, and a table of what it did.

The model is the one BYTHEBOOK_TEST_LLM_URL names, else the one that scripts/get_test_llm.py
fetched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from llm.real_server import RealModel, first_model, own_server

_TABLE: list[tuple[str, ...]] = []
_SHOWN: list[str] = []


@pytest.fixture(scope="session")
def real_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealModel]:
    if not os.environ.get("BYTHEBOOK_TEST_LLM"):
        pytest.skip("A real language model is asked only by `make test-llm`.")
    url = os.environ.get("BYTHEBOOK_TEST_LLM_URL")
    key = os.environ.get("BYTHEBOOK_TEST_LLM_KEY", "none")
    name = os.environ.get("BYTHEBOOK_TEST_LLM_MODEL")
    if url:
        yield RealModel(url, name or first_model(url, key), key)
        return
    with own_server(tmp_path_factory.mktemp("llm")) as own:
        yield RealModel(own, name or first_model(own, key), key)


@pytest.fixture
def table() -> list[tuple[str, ...]]:
    """Rows for the end of the run: what was asked, and what was seen."""
    return _TABLE


@pytest.fixture
def shown() -> list[str]:
    """What a reader got to see, for a person to judge at the end of the run."""
    return _SHOWN


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not _TABLE:
        return
    terminalreporter.section("what the language model did")
    widths = [max(len(row[column]) for row in _TABLE) for column in range(len(_TABLE[0]))]
    for row in _TABLE:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line("  ".join(cells).rstrip())
    terminalreporter.section("what the reader saw: is it so in the book?")
    for text in _SHOWN:
        terminalreporter.write_line(text)
