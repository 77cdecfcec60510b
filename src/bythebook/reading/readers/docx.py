"""DOCX: paragraphs by their styles, lists, tables and code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from bythebook.reading.readers import Converted
from bythebook.reading.readers.markdown_writer import MarkdownWriter
from bythebook.reading.readers.markup_tokens import MarkupToken
from bythebook.reading.readers.table_cells import MAX_COLUMNS, Cell, filled, span
from bythebook.reading.readers.zip_archive import Archive

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
        if not style:
            return []
        found: list[Style] = []
        while style in self.styles and len(found) < DEEPEST:
            found.append(self.styles[style])
            style = found[-1].parent
        # Some programs write no styles; the ids are the English names then.
        return found or [Style(name=re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", style))]

    def level(self, style: str) -> int:
        for own in self._line(style):
            named = HEADING.fullmatch(own.name.strip())
            if named or own.level:
                return int(named[1]) if named else own.level
        return 0

    def kind(self, style: str) -> Kind:
        for own in self._line(style):
            if TITLE.fullmatch(own.name.strip()):
                return "title"
            if CODE.search(own.name):
                return "code"
            if QUOTE.search(own.name):
                return "quote"
        return ""

    def list_of(self, style: str) -> str:
        return next((own.list_id for own in self._line(style) if own.list_id), "")


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
            level = _number(attributes.get("ilvl", ""))
        elif token.name == "numfmt" and value not in ("bullet", "none"):
            levels.add(level)
        elif token.name == "num":
            own = attributes.get("numid", "")
        elif token.name == "abstractnumid":
            styles.numbered.setdefault(own, abstract.get(value, set()))


def _tags(archive: Archive, name: str) -> list[MarkupToken]:
    return [token for token in archive.xml(name) if token.kind == "open"]


DOCUMENT = "word/document.xml"
PROPERTIES = "docProps/core.xml"
# Deleted text, second versions of text boxes, and what fields are computed from.
SKIPPED = frozenset({"del", "movefrom", "fallback", "instrtext"})
MONO_FONT = re.compile(r"courier|consolas|mono|menlo|monaco|typewriter", re.IGNORECASE)
MAX_ROWS = 5_000


@dataclass
class _Paragraph:
    style: str = ""
    list_id: str = ""
    list_level: int = 0
    level: int = 0
    runs: int = 0
    mono_runs: int = 0
    text: list[str] = field(default_factory=list)


def read(data: bytes, path: str) -> Converted:
    with Archive(data, path, "a DOCX file") as archive:
        if DOCUMENT not in archive.names:
            raise archive.damaged()
        styles = read_styles(archive)
        found = list(archive.xml(DOCUMENT))
        title = _property(archive, "title")
        language = _property(archive, "language") or styles.language
    writer = MarkdownWriter(path)
    opened = (token for token in found if token.kind == "open" and token.name == "pstyle")
    used = {token.attributes().get("val", "") for token in opened}
    titled = any(styles.kind(style) == "title" for style in used)
    if not titled and all(styles.level(style) != 1 for style in used):
        writer.heading(1, title)
    _Walk(writer, styles, titled).write(found)
    return writer.finish(language=language)


def _property(archive: Archive, name: str) -> str:
    inside = ""
    for token in archive.xml(PROPERTIES):
        if token.kind == "text" and inside == name and token.raw.strip():
            return " ".join(token.raw.split())
        if token.kind != "text":
            inside = token.name if token.kind == "open" else ""
    return ""


class _Walk:
    """Goes through the document once."""

    def __init__(self, writer: MarkdownWriter, styles: Styles, titled: bool) -> None:
        self.writer = writer
        self.styles = styles
        self.titled = titled
        self.open: list[_Paragraph] = []
        self.tables: list[list[list[Cell]]] = []
        self.code: list[str] = []
        self.numbers: dict[tuple[str, int], int] = {}
        self.in_run = self.in_text = False

    def write(self, found: list[MarkupToken]) -> None:
        skipping, depth = "", 0
        for token in found:
            if skipping:
                if token.name == skipping and not token.empty:
                    depth += {"open": 1, "close": -1}.get(token.kind, 0)
                skipping = skipping if depth else ""
            elif token.kind == "text":
                if self.in_text and self.open:
                    self.open[-1].text.append(token.raw)
            elif token.kind == "open" and token.name in SKIPPED and not token.empty:
                skipping, depth = token.name, 1
            elif token.kind == "open":
                self._begin(token)
            else:
                self._end(token.name)
        while self.open:
            self._close_paragraph()
        while self.tables:
            self._close_table()
        self._close_code()

    def _begin(self, token: MarkupToken) -> None:
        name = token.name
        if name == "p" and not token.empty:
            self.open.append(_Paragraph())
        elif name == "tbl":
            self._close_code()
            self.tables.append([])
        elif name == "tr" and self.tables:
            self.tables[-1].append([])
        elif name == "tc" and self.tables:
            if self.tables[-1] and len(self.tables[-1][-1]) < MAX_COLUMNS:
                self.tables[-1][-1].append(Cell())
        elif name in ("gridspan", "vmerge") and self.tables:
            self._spans(token)
        elif self.open:
            self._in_paragraph(self.open[-1], token)

    def _spans(self, token: MarkupToken) -> None:
        value = token.attributes().get("val")
        if self.tables[-1] and self.tables[-1][-1]:
            cell = self.tables[-1][-1][-1]
            if token.name == "gridspan":
                cell.columns = span(value)
            else:
                cell.continues = value != "restart"

    def _in_paragraph(self, paragraph: _Paragraph, token: MarkupToken) -> None:
        name = token.name
        if name == "r":
            self.in_run = True
            paragraph.runs += 1
        elif name == "t":
            self.in_text = not token.empty
        elif name in ("tab", "ptab") and self.in_run:
            paragraph.text.append("\t")
        elif name in ("br", "cr") and self.in_run:
            paragraph.text.append("\n")
        elif name == "nobreakhyphen":
            paragraph.text.append("-")
        elif name == "pstyle":
            paragraph.style = token.attributes().get("val", "")
        elif name == "numid":
            paragraph.list_id = token.attributes().get("val", "")
        elif name == "ilvl":
            paragraph.list_level = _number(token.attributes().get("val", ""))
        elif name == "outlinelvl":
            paragraph.level = _number(token.attributes().get("val", "")) + 1
        elif name == "rfonts" and self.in_run:
            paragraph.mono_runs += bool(MONO_FONT.search(token.attributes().get("ascii", "")))

    def _end(self, name: str) -> None:
        if name == "r":
            self.in_run = False
        elif name == "t":
            self.in_text = False
        elif name == "p" and self.open:
            self._close_paragraph()
        elif name == "tbl" and self.tables:
            self._close_table()

    def _close_paragraph(self) -> None:
        paragraph = self.open.pop()
        raw = "".join(paragraph.text)
        text = "\n".join(" ".join(line.split()) for line in raw.splitlines()).strip()
        if self.tables:
            if self.tables[-1] and self.tables[-1][-1]:
                self.tables[-1][-1][-1].text += f" {text}"
            return
        kind = self.styles.kind(paragraph.style)
        if kind == "code" or (text and paragraph.mono_runs >= paragraph.runs > 0):
            self.code.append(raw.replace("\t", "    "))
            return
        self._close_code()
        list_id = paragraph.list_id or self.styles.list_of(paragraph.style)
        level = paragraph.level if 1 <= paragraph.level <= 9 else self.styles.level(paragraph.style)
        if kind == "title":
            self.writer.heading(1, text)
        elif level:
            self.writer.heading(level + self.titled, text)
        elif text and list_id not in ("", "0"):
            mark = self._mark(list_id, paragraph.list_level)
            self.writer.item(paragraph.list_level, mark, text)
        elif kind == "quote":
            self.writer.quote(text)
        else:
            self.writer.paragraph(text)

    def _mark(self, list_id: str, level: int) -> str:
        if level not in self.styles.numbered.get(list_id, ()):
            return "-"
        key = (list_id, level)
        self.numbers[key] = self.numbers.get(key, 0) + 1
        for deeper in [k for k in self.numbers if k[0] == list_id and k[1] > level]:
            del self.numbers[deeper]
        return f"{self.numbers[key]}."

    def _close_code(self) -> None:
        lines, self.code = self.code, []
        self.writer.code("\n".join(lines))

    def _close_table(self) -> None:
        rows = self.tables.pop()[:MAX_ROWS]
        if self.tables:  # a table in a cell is text of the cell
            text = "; ".join(", ".join(cell.text.strip() for cell in row) for row in rows)
            if self.tables[-1] and self.tables[-1][-1]:
                self.tables[-1][-1][-1].text += f" {text}"
            return
        self.writer.table(filled(rows))


def _number(value: str) -> int:
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 3 else 0
