"""reStructuredText: read by docutils, which may include no other file and nothing raw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from docutils.core import publish_doctree
from docutils.utils import SystemMessage

from bythebook.errors import InputError
from bythebook.reading.converted import Converted
from bythebook.reading.readers.rst_names import Contents, know_names_of, know_sphinx_names
from bythebook.reading.readers.rst_text import RstText
from bythebook.reading.readers.tokens import decoded
from bythebook.reading.readers.writer import Writer

# No file beside the book decides how it is read, and no message goes to the terminal.
SETTINGS: dict[str, Any] = {
    "_disable_config": True,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 3,
    "halt_level": 5,
    "warning_stream": False,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "doctitle_xform": False,
    "line_length_limit": 20_000,
}
# What docutils itself stumbles over.
UNREADABLE = (
    SystemMessage,
    RecursionError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
    AssertionError,
    NotImplementedError,
)


# docutils makes cells of all columns for each line of a table, however short the line.
MAX_COLUMNS = 100


def read(data: bytes, path: str) -> Converted:
    if b"\0" in data:
        raise InputError(
            f"{path} is not a text file.", action="Remove it from the book or save it as UTF-8."
        )
    text_of_file = decoded(data)
    if any(_columns(line) > MAX_COLUMNS for line in text_of_file.splitlines()):
        raise InputError(
            f"{path} has a table of more than {MAX_COLUMNS} columns.",
            action="Split the table, or remove the file from the book.",
        )
    know_sphinx_names()
    know_names_of(text_of_file)
    writer = Writer(path)
    writer.mark("")
    text = RstText(writer)
    try:
        tree = publish_doctree(text_of_file, source_path=path, settings_overrides=SETTINGS)
        text.write(tree)
    except UNREADABLE as problem:
        raise InputError(
            f"{path} can't be read as reStructuredText ({type(problem).__name__}).",
            action="Correct its markup, or remove it from the book.",
        ) from problem
    problems = []
    if text.unknown:
        names = ", ".join(sorted(text.unknown)[:5])
        problems.append(f"{len(text.unknown)} passages can't be read as markup, as {names}")
    contents = tuple(entry for part in tree.findall(Contents) for entry in part["entries"])
    return replace(writer.finish(problems=problems), contents=contents)


def _columns(line: str) -> int:
    """Of a simple or a grid table, if the line is a border of one."""
    border = line.strip()
    if len(border) <= MAX_COLUMNS or border[0] not in "=-+":
        return 0
    signs = set(border)
    if signs <= {"=", " "} or signs <= {"-", " "}:
        return len(border.split())
    return border.count("+") if signs <= {"+", "-", "="} else 0
