"""What a passage announces stands in the next one."""

from __future__ import annotations

import pytest

from bythebook.extractive.quotes import Quote, continuation, continues_in_next
from bythebook.extractive.units import units_of
from bythebook.models.chunk import Span
from bythebook.models.passage import Passage
from extractive.extractive_tools import joined
from models.samples import passage as sample

BEGINNING = "Robots need power. To charge one, do the following:"


def part(source: str, start: int, end: int) -> Passage:
    """A passage that is `source[start:end]`."""
    span = Span(start=start, end=end, at=0)
    following = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    return sample(text=source[start:end], spans=[span], next_chunk_id=following)


def last_quote(passage: Passage) -> Quote:
    unit = units_of(passage.text)[-1]
    return Quote(unit.text, passage, unit.start, unit.end)


@pytest.mark.parametrize(
    ("behind", "shown"),
    [
        ("1. Switch it off.\n2. Plug it in.\n\nDone.", "1. Switch it off.\n2. Plug it in."),
        ("```sh\ncharge now\n```\n\nDone.", "```sh\ncharge now\n```"),
        ("Nothing of the kind.", ""),
        ("## Another part\n\n- an item", ""),
    ],
)
def test_what_is_announced_comes_from_the_next_passage(behind: str, shown: str) -> None:
    source = f"{BEGINNING}\n\n{behind}"
    first = part(source, 0, len(BEGINNING))
    # The next passage repeats the last sentence of the one before.
    second = part(source, source.index("To charge"), len(source))
    assert continues_in_next([last_quote(first)])
    assert joined(continuation(first, second)) == shown


def test_steps_go_on_and_other_lists_do_not() -> None:
    source = "1. Switch it off.\n2. Plug it in.\n3. Wait.\n\nDone."
    first = part(source, 0, source.index("2."))
    assert continues_in_next([last_quote(first)])
    rest = part(source, source.index("2."), len(source))
    assert joined(continuation(first, rest)) == "2. Plug it in.\n3. Wait."
    other = source.replace("2. Plug it in.\n3. Wait.", "- A remark.")
    assert not continuation(first, part(other, other.index("- A"), len(other)))


def test_a_finished_answer_does_not_go_on() -> None:
    source = "Robots need power. They have a battery."
    whole = part(source, 0, len(source))
    assert not continues_in_next([last_quote(whole)])
    assert not continues_in_next([])
