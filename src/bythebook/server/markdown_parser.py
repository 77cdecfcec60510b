"""Markdown parsed so that every character knows its place in the source."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Literal

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

if TYPE_CHECKING:
    from markdown_it.utils import EnvType


# In a token's `meta`: where each of its characters stands, and where its markup begins.
OFFSETS = "offsets"
BEGIN = "begin"


class PlacingState(StateInline):
    """Notes the position of every character that waits to become text."""

    def __init__(self, src: str, md: MarkdownIt, env: EnvType, out_tokens: list[Token]) -> None:
        super().__init__(src, md, env, out_tokens)
        self._waiting: list[int] = []

    def append_pending(self, text: str) -> None:
        self._waiting += range(self.pos, self.pos + len(text))
        super().append_pending(text)

    def pushPending(self) -> Token:
        token = super().pushPending()
        token.meta[OFFSETS], self._waiting = self._waiting, []
        return token

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        # White space before a line break was taken off the end.
        del self._waiting[len(self.pending) :]
        token = super().push(ttype, tag, nesting)
        token.meta[BEGIN] = self.pos
        return token


class PlacingParser(ParserInline):
    """The inline parser of markdown-it, with that state."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = PlacingState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def offsets_of(token: Token, src: str, after: int) -> list[int]:
    """Where the characters of a token's content stand in `src`; `after` is where the token before
    it ended. A character that stands for several has the place of the first."""
    if OFFSETS in token.meta:
        known: list[int] = token.meta[OFFSETS]
        return known
    begin: int = min(max(token.meta.get(BEGIN, after), after), len(src) - 1)
    if token.type == "text_special":
        return [begin] * len(token.content)
    # Behind its sign: a backtick, a dollar, the bracket of an address, and perhaps a space.
    signs = len(token.markup)
    for at in (begin, begin + 1, begin + signs, begin + signs + 1):
        own = src[at : at + len(token.content)]
        if own.replace("\n", " ") == token.content.replace("\n", " "):
            return list(range(at, at + len(own)))
    return [begin] * len(token.content)


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


HEADING_ID = re.compile(r"(?<!\s)\s*\{#[\w-]+\}$")
MARKER = re.compile(r"\[(\d{1,3})\]")
# In the parser's `env`: the numbers that an answer's markers may have.
NUMBERS = "numbers"


@cache
def markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False})
    parser.inline = PlacingParser()
    parser.configure("commonmark", {"html": False, "xhtmlOut": False})
    parser.enable(["table", "strikethrough"])
    # They join pieces of text, and so lose where each piece stands.
    parser.disable(["fragments_join", "text_join"])
    container_plugin(parser, "admonition", validate=lambda params, _markup: bool(params.strip()))
    admon_plugin(parser)
    # "$5 or $6" is money.
    dollarmath_plugin(
        parser, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True
    )
    parser.inline.ruler.before("link", "cite", _cite)
    parser.core.ruler.before("inline", "heading_ids", _without_heading_ids)
    return parser


def _cite(state: StateInline, silent: bool) -> bool:
    """A marker of an answer, which no link definition in the text can turn into a link."""
    if state.src[state.pos] != "[" or NUMBERS not in state.env or state.linkLevel:
        return False
    found = MARKER.match(state.src, state.pos, state.posMax)
    if not found or int(found[1]) not in state.env[NUMBERS]:
        return False
    if not silent:
        state.push("cite", "", 0).info = str(int(found[1]))
    state.pos = found.end()
    return True


def _without_heading_ids(state: StateCore) -> None:
    """`## Title {#name}` names the heading's anchor; readers of the book don't see it."""
    for before, token in zip(state.tokens, state.tokens[1:], strict=False):
        if before.type == "heading_open":
            token.content = HEADING_ID.sub("", token.content)
