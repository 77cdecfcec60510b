"""Markdown as sections and blocks with offsets: what may be cut, and where."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from bythebook.reading.directives import Range
from bythebook.reading.markup import Markup, find_markup, mask
from bythebook.reading.slugs import Anchors, Flavor, explicit_id, plain_heading
from bythebook.reading.source import BREAK, Source

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
NO_MARKUP = Markup((), frozenset(), ())
HTML_HEADING = re.compile(r"<th\b", re.IGNORECASE)
HTML_ROW_END = re.compile(rf"</tr\s*>(?P<rest>[ \t]*{BREAK})?", re.IGNORECASE)
MAY_HAVE_INDENTED_CODE = re.compile(rf"{BREAK}[ \t]*{BREAK}(?: {{4}}|\t)[ \t]*\S")


@dataclass(frozen=True)
class Block:
    """A range of the source. `verbatim` (code, tables, maths) is cut only when it must be, between
    lines; a `group` between its children; `prose` between sentences; a heading never. `head` is
    where a table says what its columns are."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    text: str = ""
    explicit_id: str | None = None
    children: tuple[Block, ...] = ()
    head: Range | None = None


@dataclass(frozen=True)
class Parsed:
    """The blocks of a file from its first to its last character, and its markup."""

    blocks: tuple[Block, ...]
    markup: Markup
    masked: str


def parse_blocks(source: Source, body_start: int, mdx: bool) -> Parsed:
    """Every character after the front matter belongs to exactly one top-level block."""
    indented_code: list[Range] = []
    if not mdx and not source.clean and MAY_HAVE_INDENTED_CODE.search(source.text, body_start):
        blanked = mask(source.text, ((0, body_start),))
        indented_code = [
            _range(source, token)
            for token in _parser(False).parse(blanked)
            if token.type == "code_block" and token.map
        ]
    markup = NO_MARKUP
    if not source.clean:
        markup = find_markup(source, body_start, mdx, indented_code)
    masked = mask(source.text, markup.removed)
    tops = _tree(source, masked, _parser(mdx).parse(masked))
    tops = _join_whole(tops, markup.whole, source.text)
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


def _tree(source: Source, masked: str, tokens: list[Token]) -> list[Block]:
    """Nesting tokens become nested blocks; only containers keep their children."""
    tops: list[Block] = []
    stack: list[tuple[Token, list[Block]]] = []
    for index, token in enumerate(tokens):
        if token.nesting == 1:
            stack.append((token, []))
            continue
        if token.nesting == -1:
            opening, children = stack.pop()
            block = _block(source, opening, children)
        else:
            block = _block(source, token, [])
        if block and block.kind == "heading":
            text = _heading_text(source, masked, block, tokens[index - 1].content)
            block = replace(block, text=text)
        if block:
            (stack[-1][1] if stack else tops).append(block)
    return tops


def _block(source: Source, token: Token, children: list[Block]) -> Block | None:
    if not token.map or token.type == "inline":
        return None
    start, end = _range(source, token)
    kind = KINDS.get(token.type, "prose")
    if kind == "heading":
        if token.level > 0:
            return Block("prose", start, end)
        raw = source.text[start:end].strip().splitlines()[0]
        return Block("heading", start, end, int(token.tag[1]), explicit_id=explicit_id(raw))
    if kind == "group":
        return Block("group", start, end, children=tuple(children))
    if token.type == "table_open":
        return Block(kind, start, end, head=(start, source.offset_of_line(token.map[0] + 2)))
    return Block(kind, start, end)


def _heading_text(source: Source, masked: str, block: Block, content: str) -> str:
    """The heading without its markup, which has no width: `x<sub>2</sub>` is x2."""
    at = masked.find(content, block.start, block.end)
    if at < 0:  # over several lines, which the parser has joined
        return content.replace("\u00a0", " ")
    pairs = zip(content, source.text[at : at + len(content)], strict=True)
    return "".join(own for shown, own in pairs if shown == own)


def _close_gaps(blocks: Sequence[Block], start: int, end: int) -> list[Block]:
    """Stretch each block to the next one's start, and its children with it: link definitions and
    the like have no token."""
    if not blocks:
        return [Block("prose", start, end)] if start < end else []
    closed: list[Block] = []
    for block, following in zip_longest(blocks, blocks[1:]):
        stop = max(start, following.start) if following else end
        children = tuple(_close_gaps(block.children, start, stop)) if block.children else ()
        closed.append(replace(block, start=start, end=stop, children=children))
        start = stop
    return closed


def _join_whole(blocks: list[Block], whole: tuple[Range, ...], text: str) -> list[Block]:
    """Blocks inside one HTML table become one that is not cut through."""
    joined: list[Block] = []
    waiting = deque(blocks)
    for start, end in whole:
        while waiting and waiting[0].end <= start:
            joined.append(waiting.popleft())
        inside: list[Block] = []
        while waiting and waiting[0].start < end:
            inside.append(waiting.popleft())
        if not inside or any(block.kind == "heading" for block in inside):
            joined += inside
        else:  # back to the queue: the next table may begin in it
            first, last = inside[0].start, inside[-1].end
            waiting.appendleft(Block("verbatim", first, last, head=_html_head(text, start, end)))
    return [*joined, *waiting]


def _html_head(text: str, start: int, end: int) -> Range | None:
    """The first row of an HTML table, if it names the columns and ends with its line."""
    row = HTML_ROW_END.search(text, start, end)
    named = row and row["rest"] and HTML_HEADING.search(text, start, row.start())
    return (start, row.end()) if row and named else None


@dataclass(frozen=True)
class Section:
    """`path` holds the headings from the page's title down to this one; the text before the first
    `##` has no heading of its own and no anchor."""

    path: tuple[str, ...]
    level: int
    anchor: str
    blocks: tuple[Block, ...]

    @property
    def title(self) -> str | None:
        return self.path[-1] if len(self.path) > 1 else None


def split_sections(blocks: Sequence[Block], title: str, flavor: Flavor) -> list[Section]:
    """Sections in order; together they hold every block exactly once."""
    anchors = Anchors(flavor)
    sections: list[Section] = []
    above: list[tuple[int, str]] = []
    seen_heading = False
    path: tuple[str, ...] = (title,)
    level, anchor = 1, ""
    current: list[Block] = []
    for block in blocks:
        if block.kind == "heading":
            if current:
                sections.append(Section(path, level, anchor, tuple(current)))
            current = []
            heading = plain_heading(block.text)
            level = block.level
            is_title = level == 1 and not seen_heading
            seen_heading = True
            own_anchor = anchors.next(block.text, block.explicit_id)
            anchor = "" if is_title else own_anchor
            above = [entry for entry in above if entry[0] < level]
            if heading and not is_title:
                above.append((level, heading))
            path = (title, *(text for _, text in above))
        current.append(block)
    if current:
        sections.append(Section(path, level, anchor, tuple(current)))
    return sections
