"""Orders to a generator inside Markdown, such as MyST's directives and Hugo's shortcodes.

A reader of the page sees what they hold, not the orders. Each function says which characters of the
text are left out; what it does not name stays.
"""

from __future__ import annotations

import re

from bythebook.reading.source import LINE_BREAK, LINE_END, LINE_START

Range = tuple[int, int]

# `{note}`, `{admonition} Title`: what a fence holds that is no code.
DIRECTIVE = re.compile(r"[ \t]*\{(?P<name>[A-Za-z][\w:.+-]*)\}[ \t]*+(?P<title>[^\r\n]*+)")
# Options below a directive's line, one for each line or as YAML between rules; a value over several
# lines is text.
OPTIONS = re.compile(
    r"[ \t>]*---[ \t]*(?:\r\n?|\n)(?:[ \t>]*[\w-][^\r\n]*(?<![|>])(?:\r\n?|\n)){1,50}?"
    r"[ \t>]*---[ \t]*(?:\r\n?|\n)"
    r"|(?:[ \t>]*:[\w-]+:[^\r\n]*(?:\r\n?|\n))+"
)
# Tags of a cell whose code the built page does not show; its output is in no source file.
CODE_REMOVED = re.compile(r"\btags\b(?:(?!\btags\b)[^{}]){0,500}?\bremove[-_](?:cell|input)\b")
COLONS = re.compile(
    rf"{LINE_START}[ \t>]*:{{3,}}(?P<directive>\{{[A-Za-z][\w:.+-]*\}}[^\r\n]*)?[ \t]*{LINE_END}"
)
# Directives of Sphinx and its extensions that mean the same in reStructuredText and MyST: code, and
# what is for the making of the page or stands in other files.
SPHINX_CODE = "code code-block sourcecode prompt console code-tab ipython terminal".split()
SPHINX_SILENT = (
    "toctree automodule autoclass autofunction automethod autosummary highlight index "
    "currentmodule module tabularcolumns graphviz plot image-map codeauthor"
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
# Julia's Documenter has marks of its own.
DOCUMENTER = re.compile(r"[ \t]*@(?:meta|eval|setup|contents|index|docs|autodocs|raw)\b")
# Their argument is no title: a file, or a way to lay out the page.
UNTITLED = frozenset("figure grid tab-set table only container class".split())
ROLE = re.compile(
    r"\{(?P<name>[A-Za-z][\w:.+-]*)\}(?P<ticks>`++)(?P<mark>[~!]?)(?P<text>[^`\r\n]+?)"
    r"(?P<target>(?:(?<![ \t])[ \t]++)?<[^<>`\r\n]++>)?(?P=ticks)(?!`)"
)
# Roles that show words, not code.
PROSE_ROLES = frozenset("ref doc term numref download abbr cite any guilabel sup sub p t".split())
SHORTCODE = re.compile(
    r"\{\{(?P<sign>[<%])-?[ \t]*+(?:/[ \t]*+)?(?P<name>[\w./-]++)"
    r"(?P<arguments>(?:[^{}\"`]|\"[^\"\r\n]*+\"|`[^`\r\n]*+`){0,600}?)"
    r"(?:-|(?<!\s))\s*+(?:/\s*+)?[>%]\}\}"
)
SHOWN_ARGUMENT = re.compile(r"\b(?:text|title|name)=(?:\"(?P<quoted>[^\"]*)\"|(?P<bare>[^\s\"]+))")
STRING = re.compile(r"\"(?P<string>[^\"]*)\"")
SHOW_STRING = frozenset({"heading", "tab", "param"})


def unwrapped(text: str, info: Range) -> tuple[list[Range], int] | None:
    """Of a fence whose line says this: what of its beginning is left out if it holds text, and
    where its text begins. None if it is code."""
    found = DIRECTIVE.match(text, *info)
    if found is None or found["name"].rpartition(":")[2] in AS_CODE:
        return None
    title = found.start("title") if found["name"] not in UNTITLED else found.end()
    options = _options(text, found.end())
    return [(info[0], title), options], options[1]


def beside_code(text: str, info: Range) -> list[Range]:
    """What a fence of code says beside its language."""
    found = DIRECTIVE.match(text, *info)
    if found is None:
        return []
    return [(info[0], found.start("title")), _options(text, found.end())]


def is_order(text: str, info: Range) -> bool:
    """Whether a fence is for the generator alone."""
    found = DIRECTIVE.match(text, *info)
    if found is None:
        return bool(DOCUMENTER.match(text, *info))
    if found["name"] == "code-cell":
        return bool(CODE_REMOVED.search(text, *_options(text, found.end())))
    return found["name"] in LEFT_OUT


def colon_fences(text: str, start: int, end: int) -> list[Range]:
    """MyST's other fences, `:::{note}`: their lines, without a title."""
    removed: list[Range] = []
    for found in COLONS.finditer(text, start, end):
        directive = found["directive"]
        if directive is None:
            removed.append(found.span())
        elif beginning := unwrapped(text, found.span("directive")):
            removed += [(found.start(), found.start("directive")), *beginning[0]]
    return removed


def role(text: str, start: int, end: int) -> tuple[list[Range], int] | None:
    """`{ref}`Title <target>`` reads as its title, `{py:meth}`~a.b`` as code."""
    found = ROLE.match(text, start, end)
    if found is None:
        return None
    removed = [(start, found.start("ticks")), found.span("mark")]
    if found["target"]:
        removed.append(found.span("target"))
    if found["name"].rpartition(":")[2] in PROSE_ROLES:
        removed += [found.span("ticks"), (found.end() - len(found["ticks"]), found.end())]
    return removed, found.end()


def shortcode(text: str, start: int, end: int) -> tuple[list[Range], int] | None:
    """`{{< tooltip text="pod" >}}` reads as `pod`; one that shows no words is left out."""
    found = SHORTCODE.match(text, start, end)
    if found is None:
        return None
    offset = found.start("arguments")
    argument = SHOWN_ARGUMENT.search(found["arguments"])
    group = "quoted" if argument and argument["quoted"] is not None else "bare"
    if argument is None and found["name"] in SHOW_STRING:
        argument, group = STRING.search(found["arguments"]), "string"
    if argument is None:
        return [(start, found.end())], found.end()
    shown = (offset + argument.start(group), offset + argument.end(group))
    return [(start, shown[0]), (shown[1], found.end())], found.end()


def _options(text: str, line_end: int) -> Range:
    """The lines of options below a line; of none, where they would stand."""
    found = LINE_BREAK.search(text, line_end)
    content = found.end() if found else len(text)
    options = OPTIONS.match(text, content)
    return (content, options.end() if options else content)
