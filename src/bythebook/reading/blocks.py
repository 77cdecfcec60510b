"""Markdown as a tree of blocks with offsets: what may be cut, and where."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from bythebook.reading.anchors import explicit_id
from bythebook.reading.markup import Markup, Range, find_markup, mask
from bythebook.reading.source import Source

BlockKind = Literal["heading", "prose", "verbatim", "group"]

KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "fence": "verbatim",
    "code_block": "verbatim",
    "table_open": "verbatim",
    "math_block": "verbatim",
    "math_block_label": "verbatim",
    "bullet_list_open": "group",
    "ordered_list_open": "group",
    "list_item_open": "group",
    "blockquote_open": "group",
    "container_admonition_open": "group",
    "admonition_open": "group",
}
MAY_HAVE_INDENTED_CODE = re.compile(r"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)(?: {4}|\t)[ \t]*\S")


@dataclass(frozen=True)
class Block:
    """A range of the source. `verbatim` (code, tables, maths) is cut only when it must be, between
    lines; a `group` between its children; `prose` between sentences; a heading never."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    text: str = ""
    explicit_id: str | None = None
    children: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Parsed:
    """The blocks of a file from its first to its last character, and its markup."""

    blocks: tuple[Block, ...]
    markup: Markup
    masked: str


def parse_blocks(source: Source, body_start: int, mdx: bool) -> Parsed:
    """Every character after the front matter belongs to exactly one top-level block."""
    indented_code: list[Range] = []
    if not mdx and MAY_HAVE_INDENTED_CODE.search(source.text, body_start):
        blanked = mask(source.text, ((0, body_start),))
        indented_code = [
            _range(source, token)
            for token in _parser(False).parse(blanked)
            if token.type == "code_block" and token.map
        ]
    markup = find_markup(source, body_start, mdx, indented_code)
    masked = mask(source.text, markup.removed)
    tops = _tree(source, _parser(mdx).parse(masked))
    tops = _join_whole(tops, markup.whole)
    return Parsed(tuple(_close_gaps(tops, body_start, len(source.text))), markup, masked)


@cache
def _parser(mdx: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False})
    parser.enable("table")
    # Only block structure is needed; inline parsing is most of the work.
    parser.disable(["inline", "html_block"])
    if mdx:
        parser.disable("code")
    container_plugin(parser, "admonition", validate=lambda params, _markup: bool(params.strip()))
    admon_plugin(parser)
    dollarmath_plugin(parser)
    return parser


def _range(source: Source, token: Token) -> Range:
    assert token.map
    return source.offset_of_line(token.map[0]), source.offset_of_line(token.map[1])


def _tree(source: Source, tokens: list[Token]) -> list[Block]:
    """Nesting tokens become nested blocks; only containers keep their children."""
    tops: list[Block] = []
    stack: list[tuple[Token, list[Block]]] = []
    for index, token in enumerate(tokens):
        if token.nesting == 1:
            stack.append((token, []))
            continue
        if token.nesting == -1:
            opening, children = stack.pop()
            block = _block(source, opening, tokens, index, children)
        else:
            block = _block(source, token, tokens, index, [])
        if block:
            (stack[-1][1] if stack else tops).append(block)
    return tops


def _block(
    source: Source, token: Token, tokens: list[Token], index: int, children: list[Block]
) -> Block | None:
    if not token.map or token.type == "inline":
        return None
    start, end = _range(source, token)
    kind = KINDS.get(token.type, "prose")
    if kind == "heading":
        if token.level > 0:
            return Block("prose", start, end)
        text = tokens[index - 1].content.replace("\u00a0", " ")
        raw = source.text[start:end].strip().splitlines()[0]
        return Block("heading", start, end, int(token.tag[1]), text, explicit_id(raw))
    if kind == "group":
        return Block("group", start, end, children=tuple(_close_gaps(children, start, end)))
    return Block(kind, start, end)


def _close_gaps(blocks: list[Block], start: int, end: int) -> list[Block]:
    """Stretch each block to the next one's start: link definitions and the like have no token."""
    if not blocks:
        return [Block("prose", start, end)] if start < end else []
    starts = [start, *(block.start for block in blocks[1:]), end]
    return [
        replace(block, start=starts[i], end=max(starts[i], starts[i + 1]))
        for i, block in enumerate(blocks)
    ]


def _join_whole(blocks: list[Block], whole: tuple[Range, ...]) -> list[Block]:
    """Blocks inside one HTML table become one that is not cut through."""
    for start, end in whole:
        inside = [block for block in blocks if block.start < end and block.end > start]
        if not inside or any(block.kind == "heading" for block in inside):
            continue
        first = blocks.index(inside[0])
        joined = Block("verbatim", inside[0].start, max(end, inside[-1].end))
        blocks = [*blocks[:first], joined, *blocks[first + len(inside) :]]
    return blocks
