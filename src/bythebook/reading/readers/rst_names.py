"""Names that Sphinx adds to reStructuredText, so that their text is read as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles

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
LEFT_OUT = (
    "toctree literalinclude automodule autoclass autofunction automethod autosummary highlight "
    "index currentmodule module tabularcolumns graphviz plot image-map codeauthor"
).split()
CONTENT_ONLY = "only glossary hlist details tab tabs tab-set tab-item grid card dropdown".split()
BOXES = "seealso versionadded versionchanged deprecated todo".split()
TITLE_AND_TARGET = re.compile(r"^(?P<title>.+?)\s*<[^<>]*>$", re.DOTALL)


@cache
def know_sphinx_names() -> None:
    for name in (*OBJECTS, *AS_CODE):
        for domain in DOMAINS:
            roles.register_canonical_role(f"{domain}{name}", _shown_as(nodes.literal))
    for name in AS_TEXT:
        for domain in ("", "std:"):
            roles.register_canonical_role(f"{domain}{name}", _shown_as(nodes.inline))
    for name in ("code", "code-block", "sourcecode"):
        directives.register_directive(name, _Code)
    for name in LEFT_OUT:
        directives.register_directive(name, _Nothing)
    for name in (*CONTENT_ONLY, *BOXES):
        directives.register_directive(name, _Box)
    for name in OBJECTS:
        for domain in DOMAINS:
            if domain or name in ("function", "method", "exception", "attribute", "data"):
                directives.register_directive(f"{domain}{name}", _Signature)


def _shown(text: str) -> str:
    text = text.replace("\x00", "")
    titled = TITLE_AND_TARGET.match(text)
    return titled["title"] if titled else text.lstrip("~!")


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


class _Code(_Nothing):
    """Code; what Sphinx may be told of it beside its language changes only its looks."""

    def run(self) -> list[nodes.Node]:
        text = "\n".join(self.content)
        return [nodes.literal_block(text, text, classes=["code", *self.arguments[:1]])]


class _Box(_Nothing):
    """Text that is part of the page, with a line before it where it has one."""

    def run(self) -> list[nodes.Node]:
        box = nodes.compound()
        if self.name in BOXES:
            box += nodes.paragraph("", " ".join([f"{self.name}:", *self.arguments]))
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


class _Signature(_Nothing):
    """A function or class that is described below its signature."""

    def run(self) -> list[nodes.Node]:
        box = nodes.compound()
        for line in "\n".join(self.arguments).splitlines():
            box += nodes.paragraph("", "", nodes.literal("", line.strip()))
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]
