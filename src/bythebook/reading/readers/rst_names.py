"""Names that Sphinx and its extensions add to reStructuredText, so that their text is read as text.

What nobody knows is read by its shape: a role shows code, and a directive is an entry with a name
and what is said of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.directives import directive as docutils_directive
from docutils.parsers.rst.roles import role as docutils_role

from bythebook.reading.directives import FROM_CODE, SPHINX_CODE, SPHINX_SILENT, TESTED_CODE
from bythebook.reading.readers import titled_entries

TEXT_ROLES = (
    "ref doc term numref eq guilabel menuselection dfn download abbr newsgroup manpage cite issue "
    "any-text"
).split()
# They name a thing of a program; a dot or tilde before it tells Sphinx where to look and what to
# show.
OBJECT_ROLES = frozenset(
    "class func meth method attr mod module exc obj data const property type macro struct".split()
)
CONTENT_ONLY = "only glossary hlist tabs tab-set grid ifconfig container".split()
# Their argument is the name of a tab or box.
TITLED = "tab tab-item group-tab dropdown details card grid-item-card collapse".split()
BOXES = "seealso versionadded versionchanged deprecated todo".split()
# What an entry's options say to a reader.
TOLD = {"type", "default", "required", "choices"}


def know_sphinx_names() -> None:
    """Docutils looks every name up in these two functions, and Sphinx replaces them too."""
    directives.directive = _directive
    roles.role = _role


def _directive(
    directive_name: str, language_module: Any, document: Any
) -> tuple[type[Directive], list[Any]]:
    if own := DIRECTIVES.get(directive_name.lower()):
        return own, []
    found, messages = docutils_directive(directive_name, language_module, document)
    return (found, messages) if found else (_Signature, [])


def _role(
    role_name: str, language_module: Any, lineno: int, reporter: Any
) -> tuple[Any, list[Any]]:
    found, messages = docutils_role(role_name, language_module, lineno, reporter)
    if found:
        return found, messages
    is_text = role_name.lower().removeprefix("std:") in TEXT_ROLES
    return _shown_as(nodes.inline if is_text else nodes.literal), []


def _shown(role: str, text: str) -> str:
    text = text.replace("\x00", "")
    title, opened, target = text.rpartition("<")
    if opened and title.strip() and target.endswith(">") and target.count(">") == 1:
        return title.rstrip()
    if role.lower().rpartition(":")[2] not in OBJECT_ROLES:
        return text.lstrip("~!")
    return text.lstrip("~!.")


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
        return [kind(rawtext, _shown(role, text))], []

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
        language = " ".join(self.arguments).split()[:1] if self.name not in TESTED_CODE else []
        return [nodes.literal_block(text, text, classes=["code", *language])]


class _Box(_Nothing):
    """Text that is part of the page, with a line before it where it has one."""

    def run(self) -> list[nodes.Node]:
        box = nodes.compound("", *self.heads())
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]

    def heads(self) -> list[nodes.Node]:
        if self.name not in BOXES:
            return []
        return [self.inline(" ".join([f"{self.name}:", *self.arguments]))]

    def inline(self, text: str) -> nodes.Node:
        words, _ = self.state.inline_text(text, self.lineno)
        return nodes.paragraph("", "", *words)


class _Titled(_Box):
    """A tab or box: for whom its text is stands before it."""

    def heads(self) -> list[nodes.Node]:
        title = " ".join(self.arguments).strip()
        return [self.inline(f"{title}:")] if title else []


class _Signature(_Box):
    """A function, class, option or setting that is described below its name."""

    def heads(self) -> list[nodes.Node]:
        lines = "\n".join(self.arguments).splitlines()
        told = sorted(TOLD & self.options.keys())
        return [
            *(nodes.paragraph("", "", nodes.literal("", line.strip())) for line in lines),
            *(self.inline(f"{name}: {self.options[name]}") for name in told),
        ]


class _FromCode(_Signature):
    """Names a thing of a program whose description stands in the program; what the page adds to it
    stands below."""

    def run(self) -> list[nodes.Node]:
        return super().run() if self.content else []


class _Plot(_Code):
    """A picture and the code that draws it, or the name of a file of it."""

    def run(self) -> list[nodes.Node]:
        return super().run() if self.content and not self.arguments else []


DIRECTIVES: dict[str, type[Directive]] = {
    **dict.fromkeys(SPHINX_CODE, _Code),
    **dict.fromkeys(TITLED, _Titled),
    **dict.fromkeys((*SPHINX_SILENT, "literalinclude"), _Nothing),
    **dict.fromkeys((*CONTENT_ONLY, *BOXES), _Box),
    **dict.fromkeys(FROM_CODE, _FromCode),
    "plot": _Plot,
    "class": _Signature,
    "toctree": _Toctree,
}
