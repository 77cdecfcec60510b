"""What the rest of the book must know of a file: its title, its place, its address.

Heads are kept between runs, so that a book is laid out again without reading unchanged files.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from bythebook.reading.converted import Titled
from bythebook.reading.metadata import FrontMatter, shorten
from bythebook.reading.slugs import MAX_HEADING, plain_heading
from bythebook.reading.source import BREAK, LINE_END, LINE_START

TITLE = re.compile(
    rf"{LINE_START} {{0,3}}(?:#[ \t]++(?P<atx>\S[^\r\n]*+)|"
    rf"(?P<setext>\S[^\r\n\ufeff]*+){BREAK}=++[ \t]*+{LINE_END})"
)
CLOSING_SHARPS = re.compile(r"(?:^|(?<=[ \t]))#+$")
FENCE = re.compile(rf"{LINE_START}[ \t]*(?:```|~~~)(?!mdx-code-block)")
# Docusaurus includes a page's text from files whose name begins with an underscore.
PARTIAL_IMPORT = re.compile(
    rf"{LINE_START}import\s+\w+\s+from\s+"
    r"['\"](\.{1,2}/[^'\"\r\n]{0,500}_[^'\"/\r\n]{1,100}\.mdx?)['\"]"
)
CODE_OR_TAG = re.compile(
    r"(`{1,20})[^`]*+\1|</?[A-Za-z][^<>]*+>|<!--(?:(?!<!--).)*?-->"
    r"|\{/\*(?:(?!\{/\*).)*?\*/\}"
)
MAX_NUMBER = 9999
FURTHEST = 1e300


@dataclass(frozen=True)
class Head:
    """Fields of the front matter that place a page, None where it says nothing; its first heading,
    and what its toctree calls other pages."""

    title: str | None = None
    heading: str | None = None
    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None
    position: float | None = None
    slug: str | None = None
    id: str | None = None
    mdn: bool = False
    imports: tuple[str, ...] = ()
    contents: tuple[Titled, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Every field, also an empty one: 0 says something, and a kept head can be seen whole."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Head:
        contents = tuple((title, target) for title, target in values.get("contents", ()))
        imports = tuple(values.get("imports", ()))
        return cls(**{**values, "imports": imports, "contents": contents})

    @classmethod
    def is_whole(cls, values: dict[str, Any]) -> bool:
        """Whether this version of the program kept it; another may have left something out."""
        return values.keys() == cls.__dataclass_fields__.keys()


def read_head(
    text: str, front: FrontMatter, contents: tuple[Titled, ...] = ()
) -> tuple[Head, list[str]]:
    """The head, and what was wrong with it."""
    values, problems = front.values, list(front.problems)

    def whole_number(name: str) -> int | None:
        value = values.get(name)
        if value is None:
            return None
        number = value
        if isinstance(value, str) and re.fullmatch(r"\s*\d{1,4}\s*", value):
            number = int(value)
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MAX_NUMBER:
            return number
        problems.append(
            f"{name} is {shorten(value)}, not a number from 0 to {MAX_NUMBER}; the path decides"
        )
        return None

    return (
        Head(
            title=_text(values.get("title")),
            heading=_first_heading(text, front.end),
            module=_text(values.get("module")),
            chapter=whole_number("chapter"),
            lesson=whole_number("lesson"),
            position=_position(values.get("sidebar_position")),
            slug=_text(values.get("slug")),
            id=_text(values.get("id")),
            mdn="page-type" in values,
            imports=tuple(PARTIAL_IMPORT.findall(text)),
            contents=contents,
        ),
        problems,
    )


def _position(value: Any) -> float | None:
    """Any number that has a place among others; `.nan` has none, and JSON has no infinity."""
    if not isinstance(value, int | float) or value != value:
        return None
    return max(-FURTHEST, min(value, FURTHEST))


def _text(value: Any) -> str | None:
    return str(value).strip() or None if isinstance(value, str | int | float) else None


def _first_heading(text: str, start: int) -> str | None:
    fence = FENCE.search(text, start)
    found = TITLE.search(text, start, fence.start() if fence else len(text))
    if not found:
        return None
    raw = (found["atx"] or found["setext"])[:MAX_HEADING].strip()
    raw = CODE_OR_TAG.sub(lambda part: part[0] if part[1] else "", raw)
    return plain_heading(CLOSING_SHARPS.sub("", raw)) or None
