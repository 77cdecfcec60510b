"""The Markdown of answers as a chat platform writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from markdown_it.tree import SyntaxTreeNode

from bythebook.server.platforms.dialect import Dialect, web_address
from bythebook.server.rendering.document import NOT_TEXT, admonition_title
from bythebook.server.rendering.markdown import NUMBERS, markdown

TEXT = frozenset({"text", "text_special"})
CODE = frozenset({"fence", "code_block", "math_block", "table"})
INDENT = "    "
# Every marker `[n]` is a marker, and never the name of a link that the book's text defines.
MARKERS = {NUMBERS: frozenset(range(1000))}


def written(text: str, dialect: Dialect) -> str:
    """The text in the marks of the platform; those it does not know are left out."""
    clean = NOT_TEXT.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    root = SyntaxTreeNode(markdown().parse(clean, dict(MARKERS)))
    return "\n\n".join(_blocks(root.children, dialect))


def _blocks(nodes: Iterable[SyntaxTreeNode], dialect: Dialect) -> Iterator[str]:
    for node in nodes:
        if block := _block(node, dialect):
            yield block


def _block(node: SyntaxTreeNode, dialect: Dialect) -> str:
    match node.type:
        case "fence" | "code_block" | "math_block":
            return dialect.code_block(node.content.strip("\n"))
        case "table":
            return dialect.code_block("\n".join(_rows(node)))
        case "heading" | "admonition_title":
            return _marked(dialect.strong, _inline(node.children, dialect))
        case "bullet_list" | "ordered_list":
            return "\n".join(_items(node, dialect))
        case "blockquote":
            return _quoted(_blocks(node.children, dialect))
        case "admonition":
            return _quoted(_blocks(node.children, dialect))
        case "container_admonition":
            title = dialect.strong(dialect.text(admonition_title(node.info)))
            return _quoted([title, *_blocks(node.children, dialect)])
        case "paragraph":
            return dialect.line_start(_inline(node.children, dialect))
        case _:
            return ""


def _quoted(blocks: Iterable[str]) -> str:
    return "\n".join(f"> {line}" for line in "\n\n".join(blocks).split("\n"))


def _items(node: SyntaxTreeNode, dialect: Dialect) -> Iterator[str]:
    first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
    for number, item in enumerate(node.children):
        sign = dialect.bullet if first is None else f"{first + number}. "
        blocks = [(each.type in CODE, _block(each, dialect)) for each in item.children]
        shown = [block if is_code else _indented(block) for is_code, block in blocks if block]
        yield sign + "\n".join(shown).lstrip(" ")


def _indented(block: str) -> str:
    return "\n".join(f"{INDENT}{line}" for line in block.split("\n"))


def _rows(table: SyntaxTreeNode) -> Iterator[str]:
    rows = [row for part in table.children for row in part.children]
    cells = [[_plain(cell.children) for cell in row.children] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=False)]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        yield " | ".join(padded).rstrip()


def _inline(nodes: Iterable[SyntaxTreeNode], dialect: Dialect) -> str:
    pieces: list[str] = []
    for is_text, run in groupby(nodes, key=lambda node: node.type in TEXT):
        # The parser cuts text at every sign; an address must be seen as a whole.
        if is_text:
            pieces.append(dialect.text("".join(node.content for node in run)))
        else:
            pieces += [_piece(node, dialect) for node in run]
    return "".join(pieces)


def _piece(node: SyntaxTreeNode, dialect: Dialect) -> str:
    match node.type:
        case "inline":
            return _inline(node.children, dialect)
        case "softbreak":
            return " "
        case "hardbreak":
            return "\n"
        case "code_inline" | "math_inline" | "math_inline_double":
            return dialect.code(node.content)
        case "strong":
            return _marked(dialect.strong, _inline(node.children, dialect))
        case "em":
            return _marked(dialect.emphasis, _inline(node.children, dialect))
        case "s":
            return _marked(dialect.struck, _inline(node.children, dialect))
        case "link" | "image":
            return _link(node, dialect)
        case "cite":
            return dialect.text(f"[{node.info}]")
        case _:
            return dialect.text(node.content)


def _link(node: SyntaxTreeNode, dialect: Dialect) -> str:
    label = _plain(node.children).strip() or "Image"
    target = web_address(str(node.attrs.get("href") or node.attrs.get("src") or ""))
    return dialect.link(label, target) if target else dialect.text(label)


def _marked(mark: Callable[[str], str], inner: str) -> str:
    return mark(inner) if inner.strip() else inner


def _plain(nodes: Iterable[SyntaxTreeNode]) -> str:
    """What a reader sees, without any marks."""
    parts: list[str] = []
    for node in nodes:
        is_break = node.type in ("softbreak", "hardbreak")
        parts.append(" " if is_break else _plain(node.children) or _content(node))
    return "".join(parts)


def _content(node: SyntaxTreeNode) -> str:
    return "" if node.type in ("inline", "link", "em", "strong", "s") else node.content
