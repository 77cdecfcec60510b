"""Where the content of a block stands in the text, whose lines begin with the signs of lists,
quotations and tables."""

from __future__ import annotations

from collections import defaultdict

from markdown_it.token import Token

NOWHERE = -1


class Lines:
    """The lines of a text, in which the content of blocks is found again, block after block."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._starts: list[int] = []
        at = 0
        for line in self._lines:
            self._starts.append(at)
            at += len(line) + 1
        # Cells of one row stand on one line, one after another.
        self._cells: dict[int, int] = defaultdict(int)

    def offsets(self, token: Token, *, skip: int = 0, is_cell: bool = False) -> list[int]:
        """The offset in the text of each character of `token.content`; its first line is `skip`
        lines below the first one of the block."""
        if not token.map:
            return [NOWHERE] * len(token.content)
        found: list[int] = []
        lines = token.content.split("\n")
        first = token.map[0] + skip
        # A line of nothing but rare white space is left out, and counted.
        while (
            not is_cell and first < token.map[1] - 1 and lines[0].strip() not in self._line(first)
        ):
            first += 1
        for number, line in enumerate(lines, first):
            found += self._of_cell(number, line) if is_cell else self._of_line(number, line)
            found.append(self._end(number))
        return found[: len(token.content)]

    def _line(self, number: int) -> str:
        """Below the last line there is an empty one, as in a block that is not closed."""
        return self._lines[number] if number < len(self._lines) else ""

    def _end(self, number: int) -> int:
        if number >= len(self._lines):
            return NOWHERE
        return self._starts[number] + len(self._lines[number])

    def _of_line(self, number: int, line: str) -> list[int]:
        """What is left of a line once the signs before it are gone is its end."""
        if number >= len(self._lines):
            return [NOWHERE] * len(line)
        whole, core = self._lines[number], line.strip()
        trimmed = whole.rstrip()
        at = len(trimmed) - len(core) if trimmed.endswith(core) else whole.find(core)
        if at < 0:
            return [NOWHERE] * len(line)
        first = at - (len(line) - len(line.lstrip())) if core else 0
        return [
            self._starts[number] + min(max(first + place, 0), len(whole))
            for place in range(len(line))
        ]

    def _of_cell(self, number: int, cell: str) -> list[int]:
        """In a cell an upright stroke is written with a backslash, which the parser takes away."""
        whole, cursor = self._lines[number], self._cells[number]
        written = cell.replace("|", "\\|")
        at = whole.find(written, cursor)
        if at < 0:
            return [NOWHERE] * len(cell)
        self._cells[number] = at + len(written)
        offsets: list[int] = []
        for character in cell:
            offsets.append(self._starts[number] + at)
            at += 2 if character == "|" else 1
        return offsets
