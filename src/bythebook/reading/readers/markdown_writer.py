"""Writing Markdown block by block, noting where each page or anchor begins."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.errors import InputError
from bythebook.reading.readers import Converted, SourcePlace

MAX_CHARACTERS = 20_000_000
MAX_CELL = 2_000
MAX_HEADING = 300
DEEPEST_LIST = 8
INDENT = "   "  # enough below `1.`, not too much below `-`
# What would begin a block of another kind, were it not escaped. Lists may be lists.
BLOCK_START = re.compile(r"^(?=#{1,6}(?:\s|$)|>|```|~~~|\$\$|:::|!!!|\?\?\?|[-=+*_]{3,}\s*$)", re.M)
# Line breaks to str.splitlines() or to an editor, but not to Markdown, and what nobody sees.
UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]"
)
Marks = Sequence[tuple[int, str, int | None]]
TICKS = re.compile(r"`+")


class MarkdownWriter:
    """Collects blocks; what it returns is Markdown that the rest of bythebook reads."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.pieces: list[str] = []
        self.length = 0
        self.places: list[SourcePlace] = []
        self.in_list = False
        self.numbered = False

    def mark(self, link: str, page: int | None = None, at: int | None = None) -> None:
        """From here on the text is there."""
        place = SourcePlace(self.length if at is None else at, link, page)
        if self.places and self.places[-1].start == place.start:
            self.places.pop()
        if not self.places or (self.places[-1].link, self.places[-1].page) != (link, page):
            self.places.append(place)

    def block(self, text: str, *, item: bool = False, marks: Marks = ()) -> None:
        """A block after a blank line; items of a list stay together. `marks` say where in the
        text another page begins."""
        text = UNSEEN.sub(" ", text).rstrip()
        if not text.strip():
            return
        separator = "\n" if item and self.in_list else "\n\n" if self.pieces else ""
        self.in_list = item
        for at, link, page in marks:
            self.mark(link, page, self.length + len(separator) + at)
        self.pieces.append(separator + text)
        self.length += len(self.pieces[-1])
        if self.length > MAX_CHARACTERS:
            raise InputError(
                f"{self.path} holds more than {MAX_CHARACTERS // 1_000_000} million characters "
                "of text.",
                action="Split it.",
            )

    def heading(self, level: int, text: str) -> None:
        text = " ".join(text.split())[:MAX_HEADING]
        if text:
            # A row of sharps at the end would be taken for markup.
            shown = re.sub(r"\s#+$", "", text)
            self.block(f"{'#' * min(max(level, 1), 6)} {shown}")

    def paragraph(self, text: str, marks: Marks = ()) -> None:
        self.block(escape(text.strip()), marks=marks)

    def item(self, depth: int, mark: str, text: str, marks: Marks = ()) -> None:
        """An entry of a list; its further lines stand below its first."""
        if depth == 0 and self.numbered != (mark != "-"):  # another list
            self.in_list, self.numbered = False, mark != "-"
        indent = INDENT * min(depth, DEEPEST_LIST)
        lines = [line for line in text.splitlines() if line.strip()] or [""]
        below = "\n" + indent + " " * (len(mark) + 1)
        self.block(f"{indent}{mark} {below.join(lines)}", item=True, marks=marks)

    def below(self, depth: int, text: str) -> None:
        """A further paragraph of an entry of a list."""
        indent = INDENT * (min(depth, DEEPEST_LIST) + 1)
        self.block("\n".join(indent + line for line in text.splitlines()), item=True)

    def code(self, text: str, language: str = "") -> None:
        """A fence longer than any row of ticks inside."""
        text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
        if text.strip():
            fence = "`" * max(3, 1 + max((len(row) for row in TICKS.findall(text)), default=0))
            word = re.sub(r"[^\w+#.-]", "", language)[:30]
            self.block(f"{fence}{word}\n{text}\n{fence}")

    def maths(self, text: str) -> None:
        text = "\n".join(line for line in text.strip().splitlines() if line.strip())
        if text:
            self.block(f"$$\n{text.replace('$$', '')}\n$$")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """A Markdown table, its first row being the heading."""
        cells = [[_cell(cell) for cell in row] for row in rows]
        cells = [row for row in cells if any(row)]
        width = max((len(row) for row in cells), default=0)
        if width == 1:
            for row in cells:
                self.paragraph(row[0].replace("\\|", "|"))
        elif cells:
            lines = [[*row, *[""] * (width - len(row))] for row in cells]
            lines.insert(1, ["---"] * width)
            self.block("\n".join(f"| {' | '.join(line)} |" for line in lines))

    def quote(self, text: str) -> None:
        lines = escape(text.strip()).splitlines()
        self.block("\n".join(f"> {line}".rstrip() for line in lines))

    def finish(
        self,
        *,
        language: str | None = None,
        problems: Sequence[str] = (),
        clean: bool = True,
        chaptered: bool = False,
    ) -> Converted:
        return Converted(
            text="".join(self.pieces) + ("\n" if self.pieces else ""),
            places=tuple(self.places),
            language=language_code(language),
            problems=tuple(problems),
            clean=clean,
            chaptered=chaptered,
        )


def escape(text: str) -> str:
    return BLOCK_START.sub(r"\\", text)


def code_span(text: str) -> str:
    """Inline code between more ticks than it has."""
    text = " ".join(text.split())
    if not text:
        return ""
    ticks = "`" * (1 + max((len(row) for row in TICKS.findall(text)), default=0))
    space = " " if "`" in (text[0], text[-1]) else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def _cell(text: str) -> str:
    return " ".join(text.split())[:MAX_CELL].replace("|", "\\|")


def language_code(name: str | None) -> str | None:
    """`en-GB` is en; anything else that does not begin with a code is unknown."""
    found = re.match(r"([a-zA-Z]{2,3})(?=$|[-_])", (name or "").strip())
    return found[1].lower() if found else None
