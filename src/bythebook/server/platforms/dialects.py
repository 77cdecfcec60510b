"""The Markdown of answers as each chat platform writes it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import groupby

from markdown_it.tree import SyntaxTreeNode

from bythebook.server.markdown_parser import NUMBERS, markdown
from bythebook.server.rendering import NOT_TEXT, admonition_title

# Behind the sign it changes nothing to see, and a name that calls everybody calls nobody.
ZERO_WIDTH = "\u200b"
CALLS_EVERYBODY = re.compile(r"@(?=channel|everyone|here)", re.IGNORECASE)
# What would end the address, or begin something else, where an address stands.
NOT_IN_ADDRESS = re.compile(r"[\s<>|@\\()\[\]`*~\x00-\x1f]")
LONGEST_ADDRESS = 400


class Dialect(ABC):
    """How one platform writes it. What comes in is text; what goes out is written for it."""

    bullet: str
    # These stand on both sides of what they mark.
    strong: str
    emphasis: str
    struck: str

    @abstractmethod
    def text(self, text: str) -> str:
        """Text that is shown as it is."""

    @abstractmethod
    def code(self, code: str) -> str: ...

    @abstractmethod
    def code_block(self, code: str) -> str: ...

    @abstractmethod
    def link(self, label: str, target: str) -> str:
        """`label` is text, and `target` an address that `web_address` gave."""

    def line_start(self, written: str) -> str:
        """A line whose first sign is nothing but itself."""
        return written

    def without_mentions(self, written: str) -> str:
        """The last step over a whole message: nobody is called by it."""
        return CALLS_EVERYBODY.sub(f"@{ZERO_WIDTH}", written)


def web_address(url: str) -> str | None:
    """The address as it may stand in a message; None if it leads nowhere from there."""
    if not url.startswith(("https://", "http://")) or len(url) > LONGEST_ADDRESS:
        return None
    return NOT_IN_ADDRESS.sub(lambda sign: "".join(f"%{b:02X}" for b in sign[0].encode()), url)


class Mrkdwn(Dialect):
    """Whatever Slack acts on stands between `<` and `>`, so that without these signs, and without
    `&`, which writes them, text is only text."""

    bullet, strong, emphasis, struck = "• ", "*", "_", "~"

    def text(self, text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def code(self, code: str) -> str:
        # There is no way to write the sign itself.
        return f"`{self.text(code.replace('`', 'ˋ'))}`"

    def code_block(self, code: str) -> str:
        apart = code.replace("```", ZERO_WIDTH.join("```"))
        return f"```\n{self.text(apart)}\n```"

    def link(self, label: str, target: str) -> str:
        shown = self.text(" ".join(label.split()).replace("|", "¦"))
        return f"<{self.text(target)}|{shown}>"


SIGNS = re.compile(r"[\\*_~|`<>\[\]]")
AT_START = re.compile(r"^(?:[#+-]|\d+(?=[.)]))")
ADDRESS = re.compile(r"https?://[^\s<>\[\]()*`|\\@]+")
# People, roles, channels, emoji, moments, commands and places of a server.
CALLS = re.compile(r"<(?=@|#|a?:\w|t:|/|id:)")


class DiscordMarkdown(Dialect):
    bullet, strong, emphasis, struck = "- ", "**", "*", "~~"

    def text(self, text: str) -> str:
        """A backslash before each sign, but not within an address, where it would be part of it."""
        written: list[str] = []
        at = 0
        for found in ADDRESS.finditer(text):
            written += [_escaped(text[at : found.start()]), found[0]]
            at = found.end()
        return "".join(written) + _escaped(text[at:])

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

    def without_mentions(self, written: str) -> str:
        return CALLS.sub(f"<{ZERO_WIDTH}", super().without_mentions(written))


def _escaped(text: str) -> str:
    return SIGNS.sub(lambda sign: f"\\{sign[0]}", text)


def _before_last(sign: str) -> str:
    """`\\#`, but `1\\.`: the sign after a number is what makes it a list."""
    return f"{sign}{ZERO_WIDTH}" if sign.isdigit() else f"\\{sign}"


TEXT = frozenset({"text", "text_special"})
CODE = frozenset({"fence", "code_block", "math_block", "table"})
INDENT = "    "
# Every marker `[n]` is a marker, and never the name of a link that the book's text defines.
MARKERS = {NUMBERS: frozenset(range(1000))}


def in_dialect(text: str, dialect: Dialect) -> str:
    """The text in the marks of the platform; those it does not know are left out."""
    clean = NOT_TEXT.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    root = SyntaxTreeNode(markdown().parse(clean, dict(MARKERS)))
    return "\n\n".join(_blocks(root.children, dialect))


def _blocks(nodes: Iterable[SyntaxTreeNode], dialect: Dialect) -> Iterator[str]:
    return filter(None, (_block(node, dialect) for node in nodes))


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
        case "blockquote" | "admonition":
            return _quoted(_blocks(node.children, dialect))
        case "container_admonition":
            title = _marked(dialect.strong, dialect.text(admonition_title(node.info)))
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


def _marked(mark: str, inner: str) -> str:
    return f"{mark}{inner}{mark}" if inner.strip() else inner


def _plain(nodes: Iterable[SyntaxTreeNode]) -> str:
    """What a reader sees, without any marks."""
    parts: list[str] = []
    for node in nodes:
        is_break = node.type in ("softbreak", "hardbreak")
        parts.append(" " if is_break else _plain(node.children) or _content(node))
    return "".join(parts)


def _content(node: SyntaxTreeNode) -> str:
    return "" if node.type in ("inline", "link", "em", "strong", "s") else node.content
