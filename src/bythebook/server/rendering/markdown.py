"""The Markdown of books and answers: CommonMark with tables, maths and admonitions, no HTML."""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from bythebook.server.rendering.placing import PlacingParser

HEADING_ID = re.compile(r"\s*\{#[\w-]+\}$")
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
