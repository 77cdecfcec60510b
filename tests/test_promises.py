"""Every promise about security and reliability names its test, and that test exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PAGES = ("security.md", "reliability.md")
# `security/test_bodies`, with or without `tests/` and the ending; a function; a target of make.
FILE = re.compile(r"\b(?:tests/)?(?P<name>[a-z_]+/test_\w+)")
FUNCTION = re.compile(r"(?<![\w/])(?P<name>test_\w+)")
TARGET = re.compile(r"`make (?P<name>[a-z-]+)")
# Sections that promise nothing: they say who and what, what was found, and what is not held.
TELLING = {
    "What is protected",
    "Attackers",
    "Figures",
    "What is not defended",
    "Load",
}


def text_of(page: str) -> str:
    return (ROOT / "docs" / "engineering" / page).read_text(encoding="utf-8")


def rows_with_tests(page: str) -> Iterator[tuple[str, str]]:
    """First cell and tests of each row of the tables that have a column for tests."""
    column = None
    for line in text_of(page).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            column = None
        elif column is None:
            column = cells.index("test") if "test" in cells else -1
        elif column >= 0 and not set(line) <= set("|-: "):
            yield cells[0], cells[column].removesuffix(" |")


def named(text: str) -> Iterator[str]:
    """All tests and targets that a text names."""
    without_files = FILE.sub("", text)
    for kind, left in ((FILE, text), (FUNCTION, without_files), (TARGET, text)):
        yield from (found["name"] for found in kind.finditer(left))


@cache
def written() -> frozenset[str]:
    """Tests by file and by function, and targets of make."""
    files = {
        path.relative_to(TESTS).with_suffix("").as_posix() for path in TESTS.rglob("test_*.py")
    }
    functions = {
        found
        for path in TESTS.rglob("test_*.py")
        for found in re.findall(r"\bdef (test_\w+)", path.read_text(encoding="utf-8"))
    }
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    return frozenset({*files, *functions, *targets})


@pytest.mark.parametrize("page", PAGES)
def test_every_promise_names_a_test(page: str) -> None:
    rows = list(rows_with_tests(page))
    assert len(rows) > 10
    for promise, tests in rows:
        assert list(named(tests)), f"{promise} names no test"


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_exists(page: str) -> None:
    missing = {name for name in named(text_of(page)) if name not in written()}
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_every_section_names_a_test(page: str) -> None:
    for section in text_of(page).split("\n## ")[1:]:
        title, _, rest = section.partition("\n")
        if title not in TELLING:
            assert list(named(rest)), f"{title} names no test"
