"""Directives and roles of Sphinx that mean the same in reStructuredText and in MyST."""

from __future__ import annotations

import re

# Code, and what is for the making of the page or stands in other files.
SPHINX_CODE = "code code-block sourcecode prompt console code-tab ipython terminal".split()
SPHINX_SILENT = (
    "toctree automodule autoclass autofunction automethod autosummary highlight index "
    "currentmodule module tabularcolumns graphviz plot image-map codeauthor changelog_imports "
    "mdinclude git_changelog towncrier-draft-entries footer_topic"
).split()
AS_CODE = {
    *SPHINX_CODE,
    *"code-cell literalinclude parsed-literal math mermaid doctest testcode".split(),
    *"ipython3 jupyter-execute".split(),
}
LEFT_OUT = {
    *SPHINX_SILENT,
    *"tableofcontents contents image raw include bibliography eval-rst youtube video div".split(),
}
# Roles that show the title of what they lead to.
TITLE_ROLES = frozenset({"ref", "doc"})
# Roles that lead to a function, class or the like, by its full name.
OBJECT_ROLES = frozenset(
    "class func function meth method attr attribute mod module exc data const obj property "
    "type paramref sig member struct enum macro var namespace concept".split()
)
# Roles that show what is written, also a tilde in front.
AS_WRITTEN = frozenset(
    "file command samp kbd code literal program envvar option mailheader mimetype regexp".split()
)
# What stands before the number in the text of such a role.
NUMBERED = {
    "pep": "PEP ",
    "rfc": "RFC ",
    **dict.fromkeys("issue issues gh ghissue bug ticket pr pull pull-request ghpull".split(), "#"),
}
# `_orm.Session`: what projects write for a long path of packages.
ALIAS = re.compile(r"(?<!\w)_[a-z]\w*+\.(?=[A-Z]|[^.]++$)")
# The same before a parameter: `_orm.relationship.lazy`.
ALIAS_OF_PARAMETER = re.compile(r"(?<!\w)_[a-z]\w*+\.(?=\w)")


def plain_role(name: str) -> str:
    """A role without its domain: `py:meth` is `meth`."""
    return name.lower().rpartition(":")[2]


def shown_part(role: str, text: str) -> int:
    """Where what a reader sees of a role's text begins."""
    if role in AS_WRITTEN or not text:
        return 0
    if text.startswith("~"):
        last = text.partition("(")[0].rfind(".") + 1
        return max(last, 1) if role in OBJECT_ROLES else 1
    begins = 1 if text[0] == "!" or (text[0] == "." and role in OBJECT_ROLES) else 0
    pattern = ALIAS_OF_PARAMETER if role == "paramref" else ALIAS
    alias = pattern.match(text, begins) if role in OBJECT_ROLES else None
    return alias.end() if alias else begins


def number_prefix(role: str, text: str) -> str:
    """`PEP ` for the text of a role that has only the number."""
    return NUMBERED.get(role, "") if text.isdecimal() else ""
