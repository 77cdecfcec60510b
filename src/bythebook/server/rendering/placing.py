"""Inline Markdown read so that every character knows where in its source it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
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
