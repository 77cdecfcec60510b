"""Sphinx' toctree, which may give other pages a title: `Title <path>`."""

from __future__ import annotations

import re
from collections.abc import Iterable

# A title and what it leads to.
Titled = tuple[str, str]

TOCTREE = re.compile(r"[ \t]*(?P<fence>`{3,}|:{3,})\{toctree\}")


def titled_entries(lines: Iterable[str]) -> tuple[Titled, ...]:
    """The lines of a toctree that have a title of their own: `Title <path>`."""
    ended = (line.strip() for line in lines if line.rstrip().endswith(">"))
    parted = (line[:-1].rpartition("<") for line in ended)
    return tuple((title.strip(), target.strip()) for title, _, target in parted if title.strip())


def toctrees(text: str) -> tuple[Titled, ...]:
    """Those of a page in MyST."""
    if "{toctree}" not in text:
        return ()
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        if fence and line.lstrip().startswith(fence):
            fence = ""
        elif fence:
            lines.append(line)
        elif opening := TOCTREE.match(line):
            fence = opening["fence"]
    return titled_entries(lines)
