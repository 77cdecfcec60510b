"""Numbers are the same however they are written, and different where it matters."""

from __future__ import annotations

import pytest

from bythebook.grounding.quantities import (
    implied_numbers,
    numbers_of,
    rates_missing,
    same_quantity,
    times_of,
)


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
        ("1 GB", "1024 MB", True),
        ("1024 MiB", "1 GiB", True),
        ("1 GiB", "1 GB", False),
        ("half an hour", "30 minutes", True),
        ("half a day", "half an hour", False),
        ("two and a half hours", "150 minutes", True),
        ("36 km/h", "10 m/s", True),
        ("10 km/h", "10 km", False),
        ("1 Gbps", "1000 Mbit/s", True),
        ("8", "8 bits", True),
        ("8 bits", "8", False),
        ("100 degrees Fahrenheit", "100 °C", False),
        ("2 minutes", "2 seconds", False),
        ("1.2.3", "1.2.4", False),
    ],
)
def test_quantities_in_other_units(one: str, other: str, same: bool) -> None:
    assert same_quantity(numbers_of(one)[0], numbers_of(other)[0]) is same


@pytest.mark.parametrize(
    ("said", "quantity"),
    [
        ("once an hour", "60 minutes"),
        ("for a week", "7 days"),
        ("half of the users", "50 %"),
        ("three quarters of it", "75 %"),
        ("2M users", "2 million"),
        ("twice", "2 times"),
    ],
)
def test_what_is_said_without_a_number(said: str, quantity: str) -> None:
    assert any(same_quantity(numbers_of(quantity)[0], one) for one in implied_numbers(said))


@pytest.mark.parametrize("text", ["an arm", "half an hour", "2 m", "each node", "4 KB"])
def test_most_words_imply_no_number(text: str) -> None:
    assert list(implied_numbers(text)) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("3 pm", "15:00", True),
        ("3:30 p.m.", "15:30", True),
        ("12:00", "noon", True),
        ("12 am", "midnight", True),
        ("3 pm", "at 3:00", True),
        ("3 pm", "3 am", False),
        ("3 am", "15:00", False),
        ("12 pm", "midnight", False),
        ("3:30 pm", "15:00", False),
    ],
)
def test_times_of_the_day(one: str, other: str, same: bool) -> None:
    (ours,), (theirs,) = times_of(one), times_of(other)
    assert ours.agrees(theirs) is theirs.agrees(ours) is same


@pytest.mark.parametrize("text", ["16:9", "I am", "3 apples", "host:8080", "12:30:15:20"])
def test_what_is_no_time(text: str) -> None:
    assert list(times_of(text)) == []


@pytest.mark.parametrize(
    ("claim", "evidence", "missing"),
    [
        ("2 per minute", "2 per second", ["per minute"]),
        ("10 times per second", "at 10 Hz", []),
        ("two per day", "twice daily", []),
        ("1 per hour", "hourly", []),
    ],
)
def test_rates(claim: str, evidence: str, missing: list[str]) -> None:
    assert list(rates_missing(claim, evidence)) == missing
