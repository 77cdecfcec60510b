"""Numbers are the same however they are written, and different where it matters."""

from __future__ import annotations

import pytest

from bythebook.grounding.quantities import numbers_of, same_quantity


def values(text: str) -> list[tuple[str, str]]:
    return [(number.value, number.unit) for number in numbers_of(text)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000 steps", "1000 steps"),
        ("one thousand", "1000"),
        ("three", "3"),
        ("seventy-three", "73"),
        ("7 billion", "7,000,000,000"),
        ("50 percent", "50%"),
        ("50 %", "50%"),
        ("250 mm", "250 millimeters"),
        ("0.5 seconds", "0.5s"),
        ("1.0", "1"),
        ("0.50", "0.5"),
        ("the 99th", "the 99"),
        ("−5", "-5"),
        ("v1.2.3", "1.2.3"),
        ("10Hz", "10 hertz"),
    ],
)
def test_the_same(one: str, other: str) -> None:
    assert values(one) == values(other) != []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.0", "1.0.0"),
        ("3.1", "3.10"),
        ("5 ms", "5 s"),
        ("5", "-5"),
        ("7 billion", "7 million"),
        ("0,001", "1"),
        ("5 cm", "5"),
    ],
)
def test_different(one: str, other: str) -> None:
    assert values(one) != values(other)


def test_a_unit_counts_for_the_whole_range() -> None:
    assert values("1 to 4 ms") == [("1", "ms"), ("4", "ms")]
    assert values("ten or twenty percent") == [("10", "%"), ("20", "%")]


@pytest.mark.parametrize("text", ["RT-2", "ros2", "mu2", "OpenVLA-7B", "x86_64", "a 3D model"])
def test_digits_in_a_name_are_no_number(text: str) -> None:
    assert values(text) == []


def test_the_word_one_is_rarely_a_number() -> None:
    assert numbers_of("the right one", with_one=False) == []
    assert [number.value for number in numbers_of("one meter", with_one=False)] == ["1"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2000 ms", "2 seconds", True),
        ("90 minutes", "1.5 hours", True),
        ("100 degrees Celsius", "100 °C", True),
        ("2 GB", "2000 MB", True),
        ("8", "8 bits", True),
        ("8 bits", "8", False),
        ("100 degrees Fahrenheit", "100 °C", False),
        ("2 minutes", "2 seconds", False),
        ("1.2.3", "1.2.4", False),
    ],
)
def test_quantities_in_other_units(one: str, other: str, same: bool) -> None:
    assert same_quantity(numbers_of(one)[0], numbers_of(other)[0]) is same
