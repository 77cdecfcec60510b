"""How a reader of files marks what leads to another place of the book, until its title is known."""

from __future__ import annotations

import re

# No text has them: they are for private use.
MARKS = "\ue000\ue001"
MARK = re.compile(rf"{MARKS[0]}((?:ref|doc|any):[^{MARKS}\r\n]*+){MARKS[1]}")
HALF_MARK = re.compile(rf"{MARKS[0]}(?:(?:ref|doc|any):)?+|{MARKS[1]}")
LONGEST_TARGET = 300


def marked(kind: str, target: str) -> str:
    """`kind` is that of the role: a label (`ref`), a page (`doc`) or either (`any`)."""
    return f"{MARKS[0]}{kind}:{' '.join(target.split())[:LONGEST_TARGET]}{MARKS[1]}"


def references_in(text: str) -> tuple[str, ...]:
    """Every reference of a text once, in its order."""
    if MARKS[0] not in text:
        return ()
    return tuple(dict.fromkeys(found[1] for found in MARK.finditer(text)))


def without_marks(text: str) -> str:
    """A title that itself refers to something."""
    return MARK.sub(lambda found: found[1].partition(":")[2], text)
