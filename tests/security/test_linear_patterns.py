"""No expression takes more steps than a text has signs, times a constant. Steps are counted, so
that the test says the same on every machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts.check_patterns import DEPTH, MOST_NAMED, check
from scripts.expressions import Expression, expressions
from scripts.matching_steps import Steps

from extent import FULL

# So that several processes share the work.
PARTS = 8
# Of the signs that an expression names, so many are tried in pairs.
PAIRED = MOST_NAMED if FULL else 3
SHAPES = (
    r"a*b|(a+)b",
    r"(?<!a)a*+b",
    r"\b(\w+)\s\1\b",
    r"(?m)^[ab]+?$",
    r"(?:ab|a)*(?=c)",
    r"(?i)[^\sB]{1,3}?(?!c)",
    r"(?>a|ab)c?$",
)


@pytest.fixture(autouse=True)
def deep() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(DEPTH)
    yield
    sys.setrecursionlimit(before)


@given(st.sampled_from(SHAPES), st.text("abcB \n", max_size=30))
def test_it_is_tried_as_python_tries_it(shape: str, text: str) -> None:
    pattern = re.compile(shape)
    found = Steps(pattern).over(text, 1_000_000).find_all()
    assert found == [match.span() for match in pattern.finditer(text)]


@pytest.mark.parametrize(
    ("shape", "is_linear"),
    [
        (r"\s*\[1\]", False),
        (r"(?<!\s)\s*+\[1\]", True),
        (r"://[^/\s:@]*:(\S+)@", False),
        (r"\[[^\]]*\]\(", False),
        (r"\[[^\[\]]*+\]\(", True),
        (r'"(?:[^"\\]|\\.)*"', False),
        (r"\w+", True),
    ],
)
def test_what_can_be_held_up_is_found(shape: str, is_linear: bool) -> None:
    assert (check(Expression(shape, re.compile(shape), anchored=False)) is None) == is_linear


@pytest.mark.parametrize("part", range(PARTS))
def test_every_expression_of_the_package_is_linear(part: int) -> None:
    found = sorted(expressions(), key=lambda each: each.place)
    assert len(found) > 300
    mine = found[part::PARTS]
    assert [finding for each in mine if (finding := check(each, PAIRED))] == []
