"""Names that Sphinx and its extensions add to reStructuredText, so that their text is read as text.

What nobody knows is read by its shape: a directive is an entry with a name and what is said of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, cast

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.languages import en as english
from docutils.utils import new_document

from bythebook.reading.converted import titled_entries
from bythebook.reading.directives import SPHINX_CODE, SPHINX_SILENT

DOMAINS = ("", "py:", "c:", "cpp:", "js:", "std:", "rst:")
OBJECTS = (
    "func class meth mod attr data exc obj const any type member macro struct enum function method "
    "module attribute exception variable var decorator property"
).split()
AS_CODE = (
    "option envvar keyword program file kbd samp command makevar regexp mimetype token".split()
)
AS_TEXT = (
    "ref doc term numref eq guilabel menuselection dfn download abbr newsgroup manpage cite issue "
    "any-text"
).split()
CONTENT_ONLY = "only glossary hlist tabs tab-set grid ifconfig container".split()
# Their argument is the name of a tab or box.
TITLED = "tab tab-item group-tab dropdown details card grid-item-card collapse".split()
BOXES = "seealso versionadded versionchanged deprecated todo".split()
# What an entry's options say to a reader.
TOLD = {"type", "default", "required", "choices"}
DIRECTIVE = re.compile(
    r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([A-Za-z][\w.:+-]*?)::(?=\s|$)", re.MULTILINE
)
ROLE = re.compile(r"(?<![\w`]):([A-Za-z][\w.:+-]{0,100}?):`")


@cache
def know_sphinx_names() -> None:
    for name in (*OBJECTS, *AS_CODE):
        for domain in DOMAINS:
            roles.register_canonical_role(f"{domain}{name}", _shown_as(nodes.literal))
    for name in AS_TEXT:
        for domain in ("", "std:"):
            roles.register_canonical_role(f"{domain}{name}", _shown_as(nodes.inline))
    for name in SPHINX_CODE:
        directives.register_directive(name, _Code)
    for name in TITLED:
        directives.register_directive(name, _Titled)
    for name in (*SPHINX_SILENT, "literalinclude"):
        directives.register_directive(name, _Nothing)
    directives.register_directive("toctree", _Toctree)
    for name in (*CONTENT_ONLY, *BOXES):
        directives.register_directive(name, _Box)
    for name in OBJECTS:
        for domain in DOMAINS:
            if domain or name in ("class", "function", "method", "exception", "attribute", "data"):
                directives.register_directive(f"{domain}{name}", _Signature)


def know_names_of(text: str) -> None:
    """Directives and roles of extensions that nobody here has heard of."""
    document, language = new_document(""), cast(Any, english)
    for name in {found[1].lower() for found in DIRECTIVE.finditer(text)}:
        if directives.directive(name, language, document)[0] is None:
            directives.register_directive(name, _Signature)
    for name in {found[1].lower() for found in ROLE.finditer(text)}:
        if roles.role(name, language, 0, document.reporter)[0] is None:
            roles.register_local_role(name, _shown_as(nodes.literal))


def _shown(text: str) -> str:
    text = text.replace("\x00", "")
    title, opened, target = text.rpartition("<")
    if opened and title.strip() and target.endswith(">") and target.count(">") == 1:
        return title.rstrip()
    return text.lstrip("~!")


def _shown_as(kind: type[nodes.TextElement]) -> Any:
    """A role that shows its words as such an element."""

    def role(
        role: str,
        rawtext: str,
        text: str,
        lineno: int,
        inliner: Any,
        options: Mapping[str, Any] | None = None,
        content: Sequence[str] = (),
    ) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [kind(rawtext, _shown(text))], []

    return role


class _AnyOptions(dict[str, Any]):
    """Every option is allowed and taken as it is."""

    def __getitem__(self, _name: str) -> Any:
        return directives.unchanged

    def __contains__(self, _name: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True


class _Nothing(Directive):
    """What stands in other files, or is for the making of the page."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[Any] = _AnyOptions()

    def run(self) -> list[nodes.Node]:
        return []


class Contents(nodes.comment):
    """A toctree: nothing that is shown, but it may give titles to other files."""


class _Toctree(_Nothing):
    def run(self) -> list[nodes.Node]:
        return [Contents(entries=titled_entries(self.content))]


class _Code(_Nothing):
    """Code; what Sphinx may be told of it beside its language changes only its looks."""

    def run(self) -> list[nodes.Node]:
        text = "\n".join(self.content)
        language = " ".join(self.arguments).split()[:1]
        return [nodes.literal_block(text, text, classes=["code", *language])]


class _Box(_Nothing):
    """Text that is part of the page, with a line before it where it has one."""

    def run(self) -> list[nodes.Node]:
        box = nodes.compound()
        if self.name in BOXES:
            box += nodes.paragraph("", " ".join([f"{self.name}:", *self.arguments]))
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


class _Titled(_Nothing):
    """A tab or box: for whom its text is stands before it."""

    def run(self) -> list[nodes.Node]:
        box = nodes.compound()
        if title := " ".join(self.arguments).strip():
            inline, _ = self.state.inline_text(f"{title}:", self.lineno)
            box += nodes.paragraph("", "", *inline)
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


class _Signature(_Nothing):
    """A function, class, option or setting that is described below its name."""

    def run(self) -> list[nodes.Node]:
        box = nodes.compound()
        for line in "\n".join(self.arguments).splitlines():
            box += nodes.paragraph("", "", nodes.literal("", line.strip()))
        for name in sorted(TOLD & self.options.keys()):
            inline, _ = self.state.inline_text(f"{name}: {self.options[name]}", self.lineno)
            box += nodes.paragraph("", "", *inline)
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]
