"""The id a heading gets on the published page, by the rules of the tool that publishes it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

Flavor = Literal["docusaurus", "mdbook", "mkdocs", "mdn", "plain"]

# Nobody reads a longer one, and the patterns below take their time.
MAX_HEADING = 500
# `## Title {#id}`, Docusaurus' newer `## Title {/* #id */}`, MkDocs' `## Title {: #id }`
EXPLICIT_ID = re.compile(r"\s*\{:?\s*(?:/\*\s*)?#([\w.:-]+)[^}]*\}\s*$")
MARKS = [
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"!?\[([^\]]*)\]\[[^\]]*\]"), r"\1"),
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
