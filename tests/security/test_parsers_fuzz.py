"""Whatever a stranger's file or request holds, it is read or refused, and nothing else happens.

`make fuzz` does the same with many more inputs.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bythebook.reading.readers import FORMATS
from extent import examples
from reading.test_reading_fuzz import SUFFIXES
from security.mutation import mutated
from security.over_http import ROUTES
from security.parsers import PARSERS, parse


@pytest.mark.parametrize("name", PARSERS)
def test_samples_and_what_is_nearly_one(name: str) -> None:
    samples = PARSERS[name].samples()
    # A whole export is read in tests/moving, and the service has no book to be asked about.
    if name != "exported book" and not name.startswith("body of"):
        assert parse(name, samples[0])
    rng = random.Random(name)
    for _ in range(15):
        parse(name, mutated(samples, rng))


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.binary(max_size=200))
@settings(max_examples=examples(15))
def test_any_bytes(name: str, data: bytes) -> None:
    parse(name, data)


def test_every_reader_is_among_them() -> None:
    """Here and in the sandbox, and so is whatever else brings files of strangers."""
    assert {FORMATS[suffix] for suffix in SUFFIXES} == set(FORMATS.values())
    for name in ("MD", "MDX", *(suffix[1:].upper() for suffix in SUFFIXES)):
        assert f"{name}, sandboxed" in PARSERS
    others = {f"body of {route}" for route in ROUTES}
    others |= {"front matter", "whole request", "value of a header"}
    assert others | {"import, digests fit", "restore, digests fit"} <= PARSERS.keys()
