"""Names in paths and headings: numbers in front, slugs, and the anchors of a published page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

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


Flavor = Literal["docusaurus", "mdbook", "mkdocs", "mdn", "plain"]

# Nobody reads a longer one, and the patterns below take their time.
MAX_HEADING = 500
# `## Title {#id}`, Docusaurus' newer `## Title {/* #id */}`, MkDocs' `## Title {: #id }`
EXPLICIT_ID = re.compile(r"(?<!\s)\s*+\{:?+\s*+(?:/\*\s*+)?+#([\w.:-]++)[^{}]*+\}\s*+$")
MARKS = [
    (re.compile(r"!?\[([^\[\]]*+)\]\([^)\[]*+\)"), r"\1"),
    (re.compile(r"!?\[([^\[\]]*+)\]\[[^\[\]]*+\]"), r"\1"),
    (re.compile(r"(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<![\w*])([*_])(?=\S)(.+?)(?<=\S)\1(?![\w*])"), r"\2"),
    (re.compile(r"`+([^`]*)`+"), r"\1"),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
]


def plain_heading(text: str) -> str:
    """A heading as a reader sees it: no emphasis marks, link targets or explicit id."""
    text = EXPLICIT_ID.sub("", " ".join(text.split())[:MAX_HEADING])
    for pattern, replacement in MARKS:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


def explicit_id(raw: str) -> str | None:
    """The id an author gave the heading, from its line in the source."""
    found = EXPLICIT_ID.search(raw, max(0, len(raw) - MAX_HEADING))
    return found[1] if found else None


def _github(text: str) -> str:
    kept = (
        c
        for c in text.lower()
        if c in " -_"
        or unicodedata.category(c)[0] in "LN"
        or unicodedata.category(c) in ("Mn", "Mc")
    )
    return "".join(kept).replace(" ", "-")


def _mdbook(text: str) -> str:
    kept = (c.lower() if c.isascii() else c for c in text.strip() if c.isalnum() or c in " -_")
    return "".join(kept).replace(" ", "-")


def _mkdocs(text: str) -> str:
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_text).strip().lower())


def _mdn(text: str) -> str:
    return re.sub(r"\s+", "_", re.sub(r"[\"#$%&+,/:;=?@\[\]^`{|}~')(\\]", "", text.lower()).strip())


RULES: dict[Flavor, Callable[[str], str]] = {
    "docusaurus": _github,
    "mdbook": _mdbook,
    "mkdocs": _mkdocs,
    "mdn": _mdn,
    "plain": _github,
}
REPEATED: dict[Flavor, str] = {"mkdocs": "_", "mdn": "_"}


class Anchors:
    """Hands out a page's ids in order; a repeated one gets the number the site would give it."""

    def __init__(self, flavor: Flavor) -> None:
        self.flavor = flavor
        self.taken: set[str] = set()
        self.counts: dict[str, int] = {}

    def next(self, heading: str, explicit: str | None = None) -> str:
        if explicit:
            if self.flavor != "docusaurus":  # it does not count an author's own ids
                self.taken.add(explicit)
            return explicit
        anchor = RULES[self.flavor](plain_heading(heading))
        unique, count = anchor, self.counts.get(anchor, 2 if self.flavor == "mdn" else 1)
        while unique in self.taken:
            unique = f"{anchor}{REPEATED.get(self.flavor, '-')}{count}"
            count += 1
        self.counts[anchor] = count
        self.taken.add(unique)
        return unique
