"""What the styles and lists of a DOCX file mean."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from bythebook.reading.readers.archive import Archive
from bythebook.reading.readers.tokens import Token, decoded, tokens

Kind = Literal["title", "code", "quote", ""]
HEADING = re.compile(r"(?:heading|überschrift|titre|título|titolo|kop)\s*([1-9])", re.IGNORECASE)
TITLE = re.compile(r"title|titel", re.IGNORECASE)
CODE = re.compile(r"\b(?:code|source|listing|preformatted|plain text|console|verbatim)\b", re.I)
QUOTE = re.compile(r"quote|zitat", re.IGNORECASE)
DEEPEST = 10


@dataclass
class Style:
    name: str = ""
    parent: str = ""
    level: int = 0
    list_id: str = ""


@dataclass
class Styles:
    """Styles by their id, and for each list which of its levels are numbered."""

    styles: dict[str, Style] = field(default_factory=dict)
    numbered: dict[str, set[int]] = field(default_factory=dict)
    language: str = ""

    def _line(self, style: str) -> list[Style]:
        """The style and those it is based on."""
        found: list[Style] = []
        while style in self.styles and len(found) < DEEPEST:
            found.append(self.styles[style])
            style = found[-1].parent
        # Some programs write no styles; the ids are the English names then.
        return found or [Style(name=re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", style))]

    def level(self, style: str) -> int:
        for own in self._line(style) if style else ():
            named = HEADING.fullmatch(own.name.strip())
            if named or own.level:
                return int(named[1]) if named else own.level
        return 0

    def kind(self, style: str) -> Kind:
        for own in self._line(style) if style else ():
            if TITLE.fullmatch(own.name.strip()):
                return "title"
            if CODE.search(own.name):
                return "code"
            if QUOTE.search(own.name):
                return "quote"
        return ""

    def list_of(self, style: str) -> str:
        return next((own.list_id for own in self._line(style) if own.list_id), "") if style else ""

    def is_numbered(self, list_id: str, level: int) -> bool:
        return level in self.numbered.get(list_id, set())

    def has_headings(self, found: list[Token]) -> bool:
        return any(
            token.name == "pstyle" and self.level(token.attributes().get("val", "")) == 1
            for token in found
            if token.kind == "open"
        )


def read_styles(archive: Archive) -> Styles:
    styles = Styles()
    current = Style()
    for token in _tags(archive, "word/styles.xml"):
        value = token.attributes().get("val", "")
        if token.name == "style":
            current = Style()
            styles.styles.setdefault(token.attributes().get("styleid", ""), current)
        elif token.name == "name":
            current.name = value
        elif token.name == "basedon":
            current.parent = value
        elif token.name == "outlinelvl" and value.isascii() and value.isdecimal():
            current.level = int(value[:2]) + 1 if int(value[:2]) < 9 else 0
        elif token.name == "numid":
            current.list_id = value
        elif token.name == "lang" and not styles.language:
            styles.language = value
    _read_lists(archive, styles)
    return styles


def _read_lists(archive: Archive, styles: Styles) -> None:
    """A list names an abstract one, which says how each level is marked."""
    abstract: dict[str, set[int]] = {}
    levels: set[int] = set()
    level, own = 0, ""
    for token in _tags(archive, "word/numbering.xml"):
        attributes = token.attributes()
        value = attributes.get("val", "")
        if token.name == "abstractnum":
            levels = abstract.setdefault(attributes.get("abstractnumid", ""), set())
        elif token.name == "lvl":
            number = attributes.get("ilvl", "")
            level = (
                int(number) if number.isascii() and number.isdecimal() and len(number) < 3 else 0
            )
        elif token.name == "numfmt" and value not in ("bullet", "none"):
            levels.add(level)
        elif token.name == "num":
            own = attributes.get("numid", "")
        elif token.name == "abstractnumid":
            styles.numbered.setdefault(own, abstract.get(value, set()))


def _tags(archive: Archive, name: str) -> list[Token]:
    content = decoded(archive.read_if_there(name))
    return [token for token in tokens(content, xml=True) if token.kind == "open"]
