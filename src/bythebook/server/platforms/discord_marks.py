"""Discord's Markdown."""

from __future__ import annotations

import re

from bythebook.server.platforms.dialect import ZERO_WIDTH, Dialect

SIGNS = re.compile(r"[\\*_~|`<>\[\]]")
AT_START = re.compile(r"^(?:[#+-]|\d+(?=[.)]))")
ADDRESS = re.compile(r"https?://[^\s<>\[\]()*`|\\@]+")
# People, roles, channels, emoji, moments, commands and places of a server.
CALLS = re.compile(r"<(?=@|#|a?:\w|t:|/|id:)")


class DiscordMarkdown(Dialect):
    bullet = "- "

    def text(self, text: str) -> str:
        """A backslash before each sign, but not within an address, where it would be part of it."""
        written: list[str] = []
        at = 0
        for found in ADDRESS.finditer(text):
            written += [_escaped(text[at : found.start()]), found[0]]
            at = found.end()
        return "".join(written) + _escaped(text[at:])

    def strong(self, written: str) -> str:
        return f"**{written}**"

    def emphasis(self, written: str) -> str:
        return f"*{written}*"

    def struck(self, written: str) -> str:
        return f"~~{written}~~"

    def code(self, code: str) -> str:
        return f"`` {code.replace('``', ZERO_WIDTH.join('``'))} ``" if "`" in code else f"`{code}`"

    def code_block(self, code: str) -> str:
        return f"```\n{code.replace('```', ZERO_WIDTH.join('```'))}\n```"

    def link(self, label: str, target: str) -> str:
        # An address in brackets has no preview. A label that is an address would not be a link.
        shown = _escaped(" ".join(label.split()).replace("://", f":{ZERO_WIDTH}//"))
        return f"[{shown}](<{target}>)"

    def line_start(self, written: str) -> str:
        return AT_START.sub(lambda sign: _before_last(sign[0]), written)

    def harmless(self, written: str) -> str:
        return CALLS.sub(f"<{ZERO_WIDTH}", super().harmless(written))


def _escaped(text: str) -> str:
    return SIGNS.sub(lambda sign: f"\\{sign[0]}", text)


def _before_last(sign: str) -> str:
    """`\\#`, but `1\\.`: the sign after a number is what makes it a list."""
    return f"{sign}{ZERO_WIDTH}" if sign.isdigit() else f"\\{sign}"
