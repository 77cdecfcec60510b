"""What the rest of the book must know of a file: its title, its place, its address.

Heads are kept between runs, so that a book is laid out again without reading unchanged files.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from bythebook.reading.anchors import plain_heading
from bythebook.reading.frontmatter import FrontMatter

TITLE = re.compile(
    r"^ {0,3}(?:#[ \t]+(?P<atx>\S[^\r\n]*?)[ \t]*#*|(?P<setext>\S[^\r\n]*)\r?\n=+)[ \t]*$", re.M
)
FENCE = re.compile(r"^[ \t]*(?:```|~~~)(?!mdx-code-block)", re.M)
# Docusaurus includes a page's text from files whose name begins with an underscore.
PARTIAL_IMPORT = re.compile(
    r"^import\s+\w+\s+from\s+['\"](\.{1,2}/[^'\"\r\n]*_[^'\"/\r\n]+\.mdx?)['\"]", re.M
)
TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Head:
    """Fields of the front matter that place a page; None where it says nothing."""

    title: str | None = None
    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None
    position: float | None = None
    slug: str | None = None
    id: str | None = None
    mdn: bool = False
    imports: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value not in (None, (), False)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Head:
        return cls(**{**values, "imports": tuple(values.get("imports", ()))})


def read_head(text: str, front: FrontMatter) -> tuple[Head, list[str]]:
    """The head, and what was wrong with it."""
    values, problems = front.values, list(front.problems)

    def whole_number(name: str) -> int | None:
        value = values.get(name)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        if isinstance(value, str) and value.strip().isdecimal():
            return int(value)
        problems.append(f"{name} is {value!r}, not a number; the path decides")
        return None

    position = values.get("sidebar_position")
    return (
        Head(
            title=_text(values.get("title")) or _first_heading(text, front.end),
            module=_text(values.get("module")),
            chapter=whole_number("chapter"),
            lesson=whole_number("lesson"),
            position=float(position) if isinstance(position, int | float) else None,
            slug=_text(values.get("slug")),
            id=_text(values.get("id")),
            mdn="page-type" in values,
            imports=tuple(PARTIAL_IMPORT.findall(text)),
        ),
        problems,
    )


def _text(value: Any) -> str | None:
    return str(value).strip() or None if isinstance(value, str | int | float) else None


def _first_heading(text: str, start: int) -> str | None:
    fence = FENCE.search(text, start)
    found = TITLE.search(text, start, fence.start() if fence else len(text))
    if not found:
        return None
    return plain_heading(TAG.sub("", found["atx"] or found["setext"])) or None
