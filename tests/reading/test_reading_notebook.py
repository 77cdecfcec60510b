"""Jupyter notebooks: cells in their order, outputs shortened."""

from __future__ import annotations

import json

import pytest

from bythebook.errors import InputError
from reading.converting import converted, page_of, text_of
from reading.made_files import code_cell, markdown_cell, notebook
from reading.reading_tools import words


def test_a_lesson() -> None:
    lesson = notebook(
        markdown_cell("# Vectors\n", "\n", "A *vector* has a length: $|v|$. <!-- note -->"),
        code_cell(
            "import numpy as np\nnp.ones(2)",
            {"output_type": "stream", "name": "stdout", "text": ["hello\n"]},
            {"output_type": "stream", "name": "stderr", "text": "warning"},
            {
                "output_type": "execute_result",
                "data": {"text/plain": "array([1., 1.])", "text/html": "<b>no</b>"},
            },
            {
                "output_type": "display_data",
                "data": {"image/png": "AAAA", "text/plain": "<Figure>"},
            },
        ),
        {"cell_type": "raw", "source": "left out"},
        markdown_cell("## Length"),
    )
    assert text_of(lesson, "a.ipynb") == (
        "# Vectors\n\nA *vector* has a length: $|v|$. <!-- note -->\n\n"
        "```python\nimport numpy as np\nnp.ones(2)\n```\n\n"
        "```text\nhello\n```\n\n```text\narray([1., 1.])\n```\n\n## Length\n"
    )


def test_passages_link_to_the_headings() -> None:
    cells = [markdown_cell("# Title\n", words(120)), markdown_cell("## Two words\n", words(120))]
    page = page_of(notebook(*cells), "lessons/01-a.ipynb")
    assert page.urls == [
        "https://example.org/lessons/01-a.ipynb",
        "https://example.org/lessons/01-a.ipynb#two-words",
    ]
    assert page.placement.lesson == 1


def test_comments_in_its_markdown_are_left_out() -> None:
    page = page_of(
        notebook(markdown_cell(f"# T\n\n<!-- secret --> {words(30)} <b>x</b>")), "a.ipynb"
    )
    assert "secret" not in page.text and "<b>" not in page.text


def test_a_long_output_is_shortened() -> None:
    lines = "\n".join(f"line {number}" for number in range(100))
    output = {"output_type": "stream", "name": "stdout", "text": lines}
    made = converted(notebook(code_cell("x", output)), "a.ipynb")
    assert "line 19\n…\n```" in made.text and "line 20" not in made.text
    assert made.problems == ("1 long outputs are shortened to 20 lines",)


@pytest.mark.parametrize(
    ("tag", "shown"),
    [
        ("remove-cell", ""),
        ("remove_input", "```text\nout\n```\n"),
        ("remove-output", "```python\nf()\n```\n"),
        ("hide-cell", "```python\nf()\n```\n\n```text\nout\n```\n"),
    ],
)
def test_what_the_built_page_leaves_out(tag: str, shown: str) -> None:
    cell = code_cell("f()", {"output_type": "stream", "name": "stdout", "text": "out"})
    tagged = cell | {"metadata": {"tags": ["other", tag, None]}}
    assert text_of(notebook(tagged), "a.ipynb") == shown


def test_a_cell_of_text_that_the_built_page_leaves_out() -> None:
    hidden = markdown_cell("For teachers.") | {"metadata": {"tags": ["remove-cell"]}}
    assert text_of(notebook(markdown_cell("For all."), hidden), "a.ipynb") == "For all.\n"


def test_another_language_and_the_third_version() -> None:
    julia = notebook(code_cell("x = 1"), metadata={"language_info": {"name": "julia"}})
    assert text_of(julia, "a.ipynb") == "```julia\nx = 1\n```\n"
    old = {
        "nbformat": 3,
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "heading", "level": 2, "source": ["Old"]},
                    {"cell_type": "code", "input": "print 1", "outputs": []},
                ]
            }
        ],
    }
    assert text_of(json.dumps(old).encode(), "a.ipynb") == ("## Old\n\n```python\nprint 1\n```\n")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no valid JSON"),
        (b"{", "no valid JSON"),
        (b"[" * 100_000, "no valid JSON"),
        (b"[]", "no cells"),
        (b"null", "no cells"),
        (b'{"cells": 3}', "no cells"),
        (b'{"worksheets": [{"cells": {}}]}', "no cells"),
    ],
)
def test_what_is_no_notebook(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=f"a.ipynb is not a notebook: it (is|has) {reason}"):
        converted(data, "a.ipynb")


@pytest.mark.parametrize(
    "cell",
    [
        {"cell_type": "code", "source": None, "outputs": 3},
        {"cell_type": "code", "source": [1, None, "x"], "outputs": [None, {"data": [], "text": 1}]},
        {"cell_type": ["markdown"], "source": "x"},
        {"source": {}},
        {"cell_type": "code", "source": "x", "metadata": {"tags": "remove-cell"}},
        {},
    ],
)
def test_odd_cells(cell: dict[str, object]) -> None:
    assert text_of(notebook(cell), "a.ipynb") in ("", "```python\nx\n```\n")
