"""Numbers and names in file and folder names: `module-2-simulation`, `ch03`, `02-gazebo.md`."""

from __future__ import annotations

import re

_WORDS = "module|chapter|chap|ch|part|unit|week|lesson|section|lecture"
NUMBERED = re.compile(
    rf"^(?:(?P<word>{_WORDS})[-_. ]*)?(?P<number>\d{{1,3}})(?=$|[-_. )])[-_. )]*", re.IGNORECASE
)
CHAPTER_AND_LESSON = re.compile(r"^(?:ch|chapter)[-_ ]?(\d{1,3})[-_.](\d{1,3})(?=$|[-_. ])", re.I)
# What Docusaurus takes for a date or a version, not for a prefix.
NOT_A_PREFIX = re.compile(r"^\d+[-_.]\d+")
DOCUSAURUS_PREFIX = re.compile(r"^\d+\s*[-_.]+\s*(?=[^-_.\s])")
DIGITS = re.compile(r"(\d+)")
INDEX_NAMES = frozenset({"readme", "index", "_index"})


def own_number(name: str) -> int | None:
    """The number a name begins with, also after a word such as "chapter"."""
    if NOT_A_PREFIX.match(name):
        return None
    found = NUMBERED.match(name)
    return int(found["number"]) if found else None


def says_chapter(name: str) -> bool:
    found = NUMBERED.match(name)
    return bool(found and (found["word"] or "").lower() in ("chapter", "chap", "ch"))


def chapter_and_lesson(name: str) -> tuple[int, int] | None:
    """`ch01-02-hello.md` carries both."""
    found = CHAPTER_AND_LESSON.match(name)
    return (int(found[1]), int(found[2])) if found else None


def without_number(name: str) -> str:
    """`module-2-simulation` is `simulation`; a name that is only a number stays."""
    return NUMBERED.sub("", name, count=1) or name if own_number(name) is not None else name


def without_docusaurus_prefix(name: str) -> str:
    return name if NOT_A_PREFIX.match(name) else DOCUSAURUS_PREFIX.sub("", name, count=1)


def natural_key(name: str) -> list[tuple[int, int | str]]:
    """Sorts 2 before 10."""
    return [
        (0, int(part)) if part.isdecimal() else (1, part.lower())
        for part in DIGITS.split(name)
        if part
    ]


def is_index(stem: str) -> bool:
    return stem.lower() in INDEX_NAMES


def humanise(name: str) -> str:
    words = re.sub(r"[-_]+", " ", without_number(name)).strip()
    return words[:1].upper() + words[1:] if words else name
