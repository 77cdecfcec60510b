"""Whatever a stranger's file or request holds, it is read or refused, and nothing else happens.

`make fuzz` does the same with many more inputs.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extent import examples
from security.mutation import mutated
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
