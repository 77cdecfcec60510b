"""The head of a file: good, odd and broken."""

from __future__ import annotations

import pytest

from reading.reading_tools import Page, check_page, read_text

TEXT = "Some text that is long enough."


def read(front: str, fence: str = "---") -> Page:
    page = read_text(f"{fence}\n{front}\n{fence}\n\n# Heading\n\n{TEXT}\n")
    check_page(page)
    return page


def teaching(page: Page) -> tuple[int, str, str]:
    metadata = page.chunks[0].metadata
    return metadata.hardware_tier, metadata.proficiency_level, metadata.layer


def test_defaults() -> None:
    page = read_text(TEXT)
    assert teaching(page) == (1, "A2", "L1")
    assert page.problems == ()


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ("hardware_tier: 3\nproficiency_level: B2\nlayer: L4", (3, "B2", "L4")),
        ("hardware_tier: '2'\nproficiency_level: b1\nlayer: l2", (2, "B1", "L2")),
        ("hardware_tier: Tier 4", (4, "A2", "L1")),
        ("proficiency_level: A2-B1", (1, "A2", "L1")),
        ("proficiency_level: B1 – C1", (1, "B1", "L1")),
        ("proficiency_level: C1 to C2", (1, "C1", "L1")),
        ("hardware_tier:", (1, "A2", "L1")),
    ],
)
def test_good_values(front: str, expected: tuple[int, str, str]) -> None:
    page = read(front)
    assert teaching(page) == expected
    assert page.problems == ()


def test_toml() -> None:
    page = read("title = 'From TOML'\nlayer = 'L3'", "+++")
    assert page.placement.title == "From TOML"
    assert teaching(page) == (1, "A2", "L3")


@pytest.mark.parametrize(
    ("front", "field"),
    [
        ("hardware_tier: 9", "hardware_tier is 9"),
        ("hardware_tier: true", "hardware_tier is True"),
        ("hardware_tier: 2.5", "hardware_tier is 2.5"),
        ("hardware_tier: [1, 2]", "hardware_tier is a list"),
        ("proficiency_level: expert", "proficiency_level is 'expert'"),
        ("layer: L7", "layer is 'L7'"),
        ("layer: {a: b}", "layer is a dict"),
        ("chapter: two", "chapter is 'two'"),
        ("chapter: -1", "chapter is -1"),
        ("lesson: 1e9", "lesson is "),
        ("lesson: '" + "9" * 5000 + "'", "lesson is "),
        ("chapter: " + "9" * 400, "chapter is a huge number"),
    ],
)
def test_a_bad_value_is_named_and_the_default_used(front: str, field: str) -> None:
    page = read(front)
    assert teaching(page) == (1, "A2", "L1")
    [problem] = page.problems
    assert problem.startswith(field)
    assert len(problem) < 200
    assert (page.placement.chapter, page.placement.lesson) == (2, 3)


@pytest.mark.parametrize(
    "front",
    [
        *["title: [broken", "a: b: c", "\tx: y", "a: !!bool maybe", "a: !!timestamp x"],
        *["a: 2024-13-45", "a: *nothing", "- a\n- b", "just text", "a: " + "9" * 5000],
        *["a: " + "[" * 2000, "a: !!float x", "a: \x07", "a: !!int ''", "? [a]\n: b"],
        *[f"{name}: 0x{'f' * 5000}" for name in ("title", "slug", "hardware_tier")],
        f"0x{'f' * 5000}: a",
    ],
)
def test_a_broken_head_is_a_problem_not_a_crash(front: str) -> None:
    page = read(front)
    assert len(page.problems) == 1
    assert "front matter" in page.problems[0]
    assert page.placement.title == "Heading"


def test_an_endless_value_is_not_written_out() -> None:
    bomb = "a0: &a0 [x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )
    page = read(f"{bomb}layer: *a11\nhardware_tier: *a11\nproficiency_level: *a11\nchapter: *a11")
    assert len(page.problems) == 4


def test_an_unclosed_head_is_text() -> None:
    page = read_text(f"---\ntitle: never closed\n\n{TEXT}")
    assert "never closed" in page.text


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "9" * 400, "true", "x", "[]"])
def test_any_sidebar_position_can_be_sorted(value: str) -> None:
    assert read(f"sidebar_position: {value}").chunks


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("# One", "One"),
        ("# One ##", "One"),
        ("# C#", "C#"),
        ("#  `<div>` and <b>fat</b>", "<div> and fat"),
        ("Two\n===", "Two"),
        ("text\n\n  # *Three* {#id}", "Three"),
        ("```\n# no\n```", "Lesson"),
        ("no title", "Lesson"),
        ("# One {/* #id */}", "One"),
    ],
)
def test_the_title_is_the_first_heading_else_the_name(body: str, title: str) -> None:
    assert read_text(f"{body}\n\n{TEXT}").placement.title == title
