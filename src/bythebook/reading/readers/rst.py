"""reStructuredText: read by docutils, which may include no other file and nothing raw."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree
from docutils.utils import SystemMessage

from bythebook.errors import InputError
from bythebook.reading.readers import Converted
from bythebook.reading.readers.markdown_writer import MarkdownWriter, code_span
from bythebook.reading.readers.markup_tokens import decoded
from bythebook.reading.readers.rst_names import Contents, know_sphinx_names
from bythebook.reading.readers.table_cells import Cell, filled

# A name of a program between single backquotes, as many projects write it for Sphinx.
MARKED_NAME = re.compile(r"[~!.]+\w+(?:\.\w+)*(?:\(\))?")
# The same with words of its own, which are shown.
TITLED_NAME = re.compile(r"(?P<title>[^<]++)<[~!.]*+\w++(?:[.:]\w++)*+>")
# What only Sphinx knows, when it makes the page.
BUILD_TIME = frozenset({"|version|", "|release|", "|today|"})
LEFT_OUT = (
    nodes.comment,
    nodes.target,
    nodes.substitution_definition,
    nodes.pending,
    nodes.raw,
    nodes.meta,
    nodes.decoration,
    nodes.image,
    nodes.docinfo,
)
ERROR = 3


class RstText:
    """Writes blocks in their order. `unknown` are the beginnings of what is no valid markup."""

    def __init__(self, writer: MarkdownWriter) -> None:
        self.writer = writer
        self.unknown: set[str] = set()

    def write(self, tree: nodes.document) -> None:
        """The heading of the only section is the title; level 1 is for titles."""
        sections = [node for node in tree.children if isinstance(node, nodes.section)]
        self._blocks(tree, 0 if len(sections) == 1 else 1)

    def _blocks(self, parent: nodes.Element, level: int, depth: int = -1) -> None:
        for node in parent.children:
            if isinstance(node, nodes.Element) and not isinstance(node, LEFT_OUT):
                self._block(node, level, depth)

    def _block(self, node: nodes.Element, level: int, depth: int) -> None:
        if isinstance(node, nodes.section):
            if node["ids"]:
                self.writer.mark(f"#{node['ids'][0]}")
            self._blocks(node, level + 1)
        elif isinstance(node, nodes.title | nodes.subtitle | nodes.rubric):
            self._title(node, level)
        elif isinstance(node, nodes.paragraph | nodes.caption | nodes.attribution | nodes.legend):
            self._paragraph(inline(node), depth)
        elif isinstance(node, nodes.literal_block | nodes.doctest_block):
            self.writer.code(node.astext(), _language(node))
        elif isinstance(node, nodes.math_block):
            self.writer.maths(node.astext())
        elif isinstance(node, nodes.bullet_list | nodes.enumerated_list):
            self._list(node, level, depth + 1)
        elif isinstance(node, nodes.table):
            self._table(node)
        elif isinstance(node, nodes.line_block):
            lines = [inline(line) for line in node.findall(nodes.line)]
            self._paragraph("\n".join(line for line in lines if line), depth)
        elif isinstance(node, nodes.definition_list_item | nodes.field | nodes.option_list_item):
            self._definition(node, level, depth)
        elif isinstance(node, nodes.footnote | nodes.citation):
            label = node.next_node(nodes.label)
            text = " ".join(inline(part) for part in node.findall(nodes.paragraph))
            self._paragraph(f"[{label.astext() if label else ''}] {text}", depth)
        elif isinstance(node, nodes.system_message):
            self._unreadable(node)
        elif isinstance(node, nodes.topic) and "contents" in node["classes"]:
            return
        elif isinstance(node, nodes.Admonition) and not isinstance(node, nodes.admonition):
            self._named(type(node).__name__.capitalize(), node, level, depth)
        else:
            self._blocks(node, level, depth)

    def _title(self, node: nodes.Element, level: int) -> None:
        if isinstance(node, nodes.title) and isinstance(node.parent, nodes.section):
            self.writer.heading(level, inline(node))
        else:
            self.writer.paragraph(inline(node))

    def _paragraph(self, text: str, depth: int) -> None:
        if depth >= 0:
            self.writer.below(depth, text)
        else:
            self.writer.paragraph(text)

    def _list(self, node: nodes.Element, level: int, depth: int) -> None:
        number = int(node.get("start", 1))
        for item in node.children:
            if not isinstance(item, nodes.list_item):
                continue
            mark = f"{number}." if isinstance(node, nodes.enumerated_list) else "-"
            number += 1
            first = item.children[0] if item.children else None
            text = inline(first) if isinstance(first, nodes.paragraph) else ""
            self.writer.item(depth, mark, text)
            rest = item.children[1:] if text else item.children
            for below in rest:
                if isinstance(below, nodes.Element) and not isinstance(below, LEFT_OUT):
                    self._block(below, level, depth)

    def _definition(self, node: nodes.Element, level: int, depth: int) -> None:
        names: list[str] = []
        for part in node.children:
            if isinstance(part, nodes.term | nodes.field_name):
                names.append(inline(part))
            elif isinstance(part, nodes.option_group):
                names += [code_span(option.astext()) for option in part.children]
            elif isinstance(part, nodes.definition | nodes.field_body | nodes.description):
                self._named(", ".join(names), part, level, depth)

    def _named(self, name: str, node: nodes.Element, level: int, depth: int) -> None:
        """A name and what is said of it; the first paragraph stands on the same line."""
        first = node.children[0] if node.children else None
        begins = isinstance(first, nodes.paragraph)
        self._paragraph(f"{name}: {inline(first)}" if begins and first else f"{name}:", depth)
        for part in node.children[begins:]:
            if isinstance(part, nodes.Element) and not isinstance(part, LEFT_OUT):
                self._block(part, level, depth)

    def _table(self, node: nodes.Element) -> None:
        title = node.next_node(nodes.title)
        if title is not None and title.parent is node:
            self.writer.paragraph(inline(title))
        rows = [
            [
                Cell(
                    " ".join(_texts(entry)),
                    rows=1 + entry.get("morerows", 0),
                    columns=1 + entry.get("morecols", 0),
                )
                for entry in row.children
                if isinstance(entry, nodes.entry)
            ]
            for row in node.findall(nodes.row)
        ]
        self.writer.table(filled(rows))

    def _unreadable(self, node: nodes.Element) -> None:
        """A directive nobody knows is shown as it stands in the file."""
        shown = [block.astext() for block in node.findall(nodes.literal_block)]
        if node.get("level", 0) >= ERROR and shown:
            self.unknown.add(next(iter(shown[0].splitlines()), "")[:40])
            for text in shown:
                self.writer.code(text, "rst")


def _texts(entry: nodes.Element) -> list[str]:
    kinds = nodes.paragraph | nodes.literal_block | nodes.math_block | nodes.line
    return [
        inline(part)
        for part in entry.findall()
        if isinstance(part, kinds) and not isinstance(part.parent, nodes.system_message)
    ]


def inline(node: nodes.Node) -> str:
    """A paragraph's text; a line break within it says nothing."""
    parts: list[str] = []
    waiting: list[nodes.Node] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, nodes.Text):
            parts.append(part.astext())
        elif isinstance(part, nodes.literal):
            parts.append(code_span(part.astext()))
        elif isinstance(part, nodes.title_reference) and MARKED_NAME.fullmatch(part.astext()):
            parts.append(code_span(part.astext().lstrip("~!.")))
        elif isinstance(part, nodes.title_reference) and (
            titled := TITLED_NAME.fullmatch(part.astext())
        ):
            parts.append(code_span(titled["title"].rstrip()))
        elif isinstance(part, nodes.problematic) and part.astext() in BUILD_TIME:
            continue
        elif isinstance(part, nodes.math):
            parts.append(f"${part.astext()}$")
        elif isinstance(part, nodes.footnote_reference | nodes.citation_reference):
            parts.append(f"[{part.astext()}]")
        elif isinstance(part, nodes.superscript) and part.astext().isdecimal():
            parts.append(f"^{part.astext()}")
        elif isinstance(part, nodes.Element) and not isinstance(part, LEFT_OUT):
            waiting.extend(reversed(part.children))
    return " ".join("".join(parts).split())


def _language(node: nodes.Element) -> str:
    if isinstance(node, nodes.doctest_block):
        return "python"
    classes: list[str] = node.get("classes", [])
    return next((name for name in classes if name != "code"), "")


# No file beside the book decides how it is read, and no message goes to the terminal.
SETTINGS: dict[str, Any] = {
    "_disable_config": True,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 3,
    "halt_level": 5,
    "warning_stream": False,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "doctitle_xform": False,
    "line_length_limit": 20_000,
}
# What docutils itself stumbles over.
UNREADABLE = (
    SystemMessage,
    RecursionError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
    AssertionError,
    NotImplementedError,
)


# docutils makes cells of all columns for each line of a table, however short the line.
MAX_COLUMNS = 100


def read(data: bytes, path: str) -> Converted:
    if b"\0" in data:
        raise InputError(
            f"{path} is not a text file.", action="Remove it from the book or save it as UTF-8."
        )
    text_of_file = decoded(data)
    if any(_columns(line) > MAX_COLUMNS for line in text_of_file.splitlines()):
        raise InputError(
            f"{path} has a table of more than {MAX_COLUMNS} columns.",
            action="Split the table, or remove the file from the book.",
        )
    know_sphinx_names()
    writer = MarkdownWriter(path)
    writer.mark("")
    text = RstText(writer)
    try:
        tree = publish_doctree(text_of_file, source_path=path, settings_overrides=SETTINGS)
        text.write(tree)
    except UNREADABLE as problem:
        raise InputError(
            f"{path} can't be read as reStructuredText ({type(problem).__name__}).",
            action="Correct its markup, or remove it from the book.",
        ) from problem
    problems = []
    if text.unknown:
        names = ", ".join(sorted(text.unknown)[:5])
        problems.append(f"{len(text.unknown)} passages can't be read as markup, as {names}")
    contents = tuple(entry for part in tree.findall(Contents) for entry in part["entries"])
    return replace(writer.finish(problems=problems), contents=contents)


def _columns(line: str) -> int:
    """Of a simple or a grid table, if the line is a border of one."""
    border = line.strip()
    if len(border) <= MAX_COLUMNS or border[0] not in "=-+":
        return 0
    signs = set(border)
    if signs <= {"=", " "} or signs <= {"-", " "}:
        return len(border.split())
    return border.count("+") if signs <= {"+", "-", "="} else 0
