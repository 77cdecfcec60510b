"""DOCX: paragraphs by their styles, lists, tables and code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bythebook.reading.converted import Converted
from bythebook.reading.readers.archive import Archive
from bythebook.reading.readers.docx_styles import Styles, read_styles
from bythebook.reading.readers.tokens import Token, decoded, tokens
from bythebook.reading.readers.writer import Writer

DOCUMENT = "word/document.xml"
PROPERTIES = "docProps/core.xml"
# Deleted text, second versions of text boxes, and what fields are computed from.
SKIPPED = frozenset({"del", "movefrom", "fallback", "instrtext"})
MONO_FONT = re.compile(r"courier|consolas|mono|menlo|monaco|typewriter", re.IGNORECASE)
MAX_ROWS = 5_000
MAX_COLUMNS = 60


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
        found = list(tokens(decoded(archive.read(DOCUMENT)), xml=True))
        title = _property(archive, "title")
        language = _property(archive, "language") or styles.language
    writer = Writer(path)
    walk = _Walk(writer, styles, _has_title(found, styles))
    if not walk.titled and not styles.has_headings(found):
        writer.heading(1, title)
    walk.write(found)
    return writer.finish(language=language)


def _property(archive: Archive, name: str) -> str:
    inside = ""
    for token in tokens(decoded(archive.read_if_there(PROPERTIES)), xml=True):
        if token.kind == "text" and inside == name and token.raw.strip():
            return " ".join(token.raw.split())
        if token.kind != "text":
            inside = token.name if token.kind == "open" else ""
    return ""


def _has_title(found: list[Token], styles: Styles) -> bool:
    return any(
        token.name == "pstyle" and styles.kind(token.attributes().get("val", "")) == "title"
        for token in found
        if token.kind == "open"
    )


class _Walk:
    """Goes through the document once."""

    def __init__(self, writer: Writer, styles: Styles, titled: bool) -> None:
        self.writer = writer
        self.styles = styles
        self.titled = titled
        self.open: list[_Paragraph] = []
        self.tables: list[list[list[str]]] = []
        self.code: list[str] = []
        self.numbers: dict[tuple[str, int], int] = {}
        self.in_run = self.in_text = False

    def write(self, found: list[Token]) -> None:
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

    def _begin(self, token: Token) -> None:
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
                self.tables[-1][-1].append("")
        elif self.open:
            self._in_paragraph(self.open[-1], token)

    def _in_paragraph(self, paragraph: _Paragraph, token: Token) -> None:
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
            paragraph.list_level = _number(token)
        elif name == "outlinelvl":
            paragraph.level = _number(token) + 1
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
                self.tables[-1][-1][-1] += f" {text}"
            return
        kind = self.styles.kind(paragraph.style)
        if kind == "code" or (text and paragraph.mono_runs >= paragraph.runs > 0):
            self.code.append(raw.replace("\t", "    "))
            return
        self._close_code()
        level = paragraph.level if 1 <= paragraph.level <= 9 else self.styles.level(paragraph.style)
        if kind == "title":
            self.writer.heading(1, text)
        elif level:
            self.writer.heading(level + self.titled, text)
        elif self._is_item(paragraph) and text:
            depth = min(paragraph.list_level, 8)
            self.writer.item(depth, self._mark(paragraph), text)
        elif kind == "quote":
            self.writer.quote(text)
        else:
            self.writer.paragraph(text)

    def _is_item(self, paragraph: _Paragraph) -> bool:
        own = paragraph.list_id or self.styles.list_of(paragraph.style)
        return own not in ("", "0")

    def _mark(self, paragraph: _Paragraph) -> str:
        own = paragraph.list_id or self.styles.list_of(paragraph.style)
        if not self.styles.is_numbered(own, paragraph.list_level):
            return "-"
        key = (own, paragraph.list_level)
        self.numbers[key] = self.numbers.get(key, 0) + 1
        for deeper in [k for k in self.numbers if k[0] == own and k[1] > paragraph.list_level]:
            del self.numbers[deeper]
        return f"{self.numbers[key]}."

    def _close_code(self) -> None:
        lines, self.code = self.code, []
        self.writer.code("\n".join(lines))

    def _close_table(self) -> None:
        rows = self.tables.pop()[:MAX_ROWS]
        if self.tables:  # a table in a cell is text of the cell
            text = "; ".join(", ".join(cell.strip() for cell in row) for row in rows)
            if self.tables[-1] and self.tables[-1][-1]:
                self.tables[-1][-1][-1] += f" {text}"
            return
        self.writer.table(rows)


def _number(token: Token) -> int:
    value = token.attributes().get("val", "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 3 else 0
