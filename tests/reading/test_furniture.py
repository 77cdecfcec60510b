"""What stands in a file for the tools that make its page is no text of the book."""

from __future__ import annotations

import pytest

from reading.converting import converted, text_of
from reading.reading_tools import check_page, read_text


def shown(text: str) -> str:
    page = read_text(f"# Title\n\nSome words before.\n\n{text}\n\nSome words behind.\n")
    check_page(page)
    body = page.text.removeprefix("# Title").strip().removeprefix("Some words before.")
    return body.removesuffix("Some words behind.").strip()


BOX = '??? abstract "API Reference"\n    ::: pump.Pump\n        options:\n            show: false'


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("A {term}`pump` runs.\n\n% {func} does not work", "A pump runs."),
        ("A {term}`pump` runs.\n\n```\n% a comment\n```", "A pump runs.\n\n```\n% a comment\n```"),
        ("::: pump.Pump", ""),
        ("::: pump\n    options:\n      show: false", ""),
        (BOX, ""),
        (f'{BOX}\n            filters:\n                - "x"', ""),
        (f"{BOX}\n\n    It pumps.", '??? abstract "API Reference"\n\n    It pumps.'),
        (
            "[Mypy] and [others][Mypy].\n\n[mypy]: https://e.org 'T'\n[*b*]: <x y>",
            "Mypy and others.",
        ),
        ("See `[Mypy]`, [this](x).\n\n[Mypy]: https://e.org", "See `[Mypy]`, [this](x)."),
        ("Release **{sub-ref}`release`** is out.", "Release  is out."),
    ],
)
def test_left_out(written: str, read: str) -> None:
    assert shown(written) == read


@pytest.mark.parametrize(
    "written",
    [
        "% of all pumps fail.",
        "::: warning\nHot.\n:::",
        "Text[^1].\n\n[^1]: A note.",
        "A line of text\n[name]: goes on here",
        "[name]: is followed by words",
        "```md\n[Mypy]\n\n[Mypy]: https://e.org\n```",
    ],
)
def test_text_stays(written: str) -> None:
    assert shown(written) == written


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (":Release: |version|\n:Date: |today|\n", ""),
        ("It is |version|, as ever.\n", "It is, as ever."),
        ("A |x| is *a* thing.\n\n.. |x| replace:: pump\n", "A pump is a thing."),
        (".. A comment\n   over two lines.\n", ""),
        (".. change::\n    :tags: orm, bug\n    :tickets: 2566\n\n    Mended.\n", "Mended."),
        (".. change::\n    :tags: orm, bug\n    :tickets:2607\n\n  Mended.\n", "Mended."),
        (
            ".. |p| replace:: :doc:`one`\n\n.. topic:: A tour\n\n   Previous: |p| | Next: |n|\n\n"
            ".. footer_topic:: |t|\n\n   Next: two\n",
            "",
        ),
        (".. topic:: A tour\n\n   It goes on.\n", "A tour\n\nIt goes on."),
        ("Go.\n\n:param x: the |y|\n:raises Error:\n", "Go.\n\nparam x: the\n\nraises Error:"),
    ],
)
def test_restructuredtext(written: str, read: str) -> None:
    made = converted(f"{written}\nSome words behind.\n".encode(), "a.rst")
    assert made.text.removesuffix("Some words behind.\n").strip() == read
    assert made.problems == ()


def test_a_change_log_does_not_hold_the_ones_before() -> None:
    text = b".. changelog_imports::\n\n    .. include:: changelog_07.rst\n\nChanges of today.\n"
    assert text_of(text, "a.rst") == "Changes of today.\n"
