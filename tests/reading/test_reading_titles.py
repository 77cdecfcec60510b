"""A page's title: its own, else what the table of contents calls it, else its first heading."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.reading.layout import find_book
from reading.reading_tools import read_folder, write_files

TEXT = "Some text that is long enough.\n"
MKDOCS = """site_name: Arms
nav:
  - Home: index.md
  - Guide:
      - Motors and drives: motor.md
      - own.md
"""
SIDEBARS = """export default {
  docs: [
    {type: 'doc', id: 'guide/motor', label: "The motor's part"},
    {type: 'category', label: 'More', items: [{label: 'Own', type: 'doc', id: 'own'}]},
    'guide/plain',
  ],
};
"""
JUPYTER_BOOK = """format: jb-book
root: index
parts:
  - caption: Guide
    chapters:
      - file: guide/motor
        title: Motors and drives
        sections:
          - file: guide/plain
"""


def titles(root: Path, files: dict[str, str]) -> dict[str, str]:
    pages = read_folder(write_files(root, files), "book")
    for page in pages.values():
        assert {chunk.metadata.title for chunk in page.chunks} == {page.placement.title}
    return {file: page.placement.title for file, page in pages.items()}


def test_a_toctree_in_restructured_text(tmp_path: Path) -> None:
    tree = "\n\n.. toctree::\n   :maxdepth: 2\n\n   Motors and drives <motor>\n   /guide/plain\n"
    more = "   Wheels </guide/wheel.rst>\n   The code <https://example.org/code>\n"
    assert titles(
        tmp_path,
        {
            "guide/index.rst": f"Guide\n=====\n\n{TEXT}{tree}{more}",
            "guide/motor.rst": f"Motor\n=====\n\n{TEXT}",
            "guide/plain.rst": f"Plain\n=====\n\n{TEXT}",
            "guide/wheel.rst": TEXT,
        },
    ) == {
        "guide/index.rst": "Guide",
        "guide/motor.rst": "Motors and drives",
        "guide/plain.rst": "Plain",
        "guide/wheel.rst": "Wheels",
    }


@pytest.mark.parametrize("fence", ["```", ":::"])
def test_a_toctree_in_myst(tmp_path: Path, fence: str) -> None:
    tree = f"{fence}{{toctree}}\n:maxdepth: 2\nMotors and drives <motor>\nplain\n{fence}\n"
    assert titles(
        tmp_path,
        {
            "index.md": f"# Arms\n\n{TEXT}\n{tree}\nSee <https://example.org>\n",
            "motor.md": f"# Motor\n\n{TEXT}",
            "plain.md": f"# Plain\n\n{TEXT}",
        },
    ) == {"index.md": "Arms", "motor.md": "Motors and drives", "plain.md": "Plain"}


def test_mdbook(tmp_path: Path) -> None:
    summary = "# Summary\n\n- [Motors and drives](motor.md)\n  - [`main` loop](loop.md)\n"
    files = {"SUMMARY.md": summary, "motor.md": f"# Motor\n\n{TEXT}", "loop.md": TEXT}
    assert titles(tmp_path, files) == {"motor.md": "Motors and drives", "loop.md": "main loop"}


def test_mkdocs(tmp_path: Path) -> None:
    assert titles(
        tmp_path,
        {
            "mkdocs.yml": MKDOCS,
            "docs/index.md": TEXT,
            "docs/motor.md": f"# Motor\n\n{TEXT}",
            "docs/own.md": f"# Own\n\n{TEXT}",
        },
    ) == {"index.md": "Home", "motor.md": "Motors and drives", "own.md": "Own"}


def test_docusaurus(tmp_path: Path) -> None:
    assert titles(
        tmp_path,
        {
            "docusaurus.config.ts": "",
            "sidebars.ts": SIDEBARS,
            "docs/guide/01-motor.md": f"# Motor\n\n{TEXT}",
            "docs/guide/plain.md": f"# Plain\n\n{TEXT}",
            "docs/own.md": f"---\ntitle: A page of its own\n---\n{TEXT}",
        },
    ) == {
        "own.md": "A page of its own",
        "guide/01-motor.md": "The motor's part",
        "guide/plain.md": "Plain",
    }


@pytest.mark.parametrize("name", ["_toc.yml", "myst.yml"])
def test_jupyter_book_and_myst(tmp_path: Path, name: str) -> None:
    files = {"guide/motor.md": f"# Motor\n\n{TEXT}", "guide/plain.md": f"# Plain\n\n{TEXT}"}
    assert titles(tmp_path, {name: JUPYTER_BOOK, **files}) == {
        "guide/motor.md": "Motors and drives",
        "guide/plain.md": "Plain",
    }


@pytest.mark.parametrize("broken", ["parts: [", "a: " + "[" * 5000])
def test_a_broken_file_of_contents_is_told(tmp_path: Path, broken: str) -> None:
    files = {"_toc.yml": broken, "motor.md": f"# Motor\n\n{TEXT}"}
    assert titles(tmp_path, files) == {"motor.md": "Motor"}
    (problem,) = find_book(tmp_path, "book").problems
    assert problem.startswith("_toc.yml can't be read: ")


def test_contents_that_name_themselves(tmp_path: Path) -> None:
    files = {"_toc.yml": "a: &a\n  - file: motor\n    title: Drives\n  - *a\n", "motor.md": TEXT}
    assert titles(tmp_path, files) == {"motor.md": "Drives"}
