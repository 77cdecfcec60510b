"""Code fences, MyST's directives and roles, and Hugo's shortcodes in Markdown.

A reader of the page sees what a directive holds, not the directive. Each function says which
characters of the text are left out; what it does not name stays.
"""

from __future__ import annotations

import re

from bythebook.reading.source import BREAK, LINE_BREAK, LINE_END, LINE_START

Range = tuple[int, int]

FENCE_OPEN = re.compile(
    rf"{LINE_START}(?: {{0,3}}(?P<comment><!--|\{{/\*)|"
    r"(?:[ \t]|>|[-*+][ \t]|\d{1,9}[.)][ \t])*"
    r"(?P<mark>`{3,}(?![^\r\n]*`)|~{3,})[ \t]*(?P<info>[^\r\n]*))"
)
COMMENT_ENDS = {"<!--": "-->", "{/*": "*/}"}
# Docusaurus' own way to say "this fence is not code": its content is part of the page.
UNWRAPPED_FENCE = "mdx-code-block"
# Docusaurus' marks in a listing: the page shows the line behind them in another colour.
HIGHLIGHT = re.compile(
    rf"{LINE_START}[ \t]*(?://|#|<!--|/\*|\{{/\*|--)[ \t]*highlight-(?:next-line|start|end)"
    rf"[^\r\n]*{LINE_END}(?:{BREAK})?"
)
# Lines of a Rust listing that only the compiler sees.
RUST = re.compile(r"[ \t>]*(?:`{3,}|~{3,})[ \t]*rust\b")
HIDDEN = re.compile(rf"{LINE_START}[ \t]*#(?:[ \t][^\r\n]*)?{LINE_END}(?:{BREAK})?")
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
# Their argument is a file or a group of tests, and not a language.
TESTED_CODE = "jupyter-execute testcode testoutput doctest".split()
SPHINX_CODE = (
    "code code-block sourcecode prompt console code-tab ipython terminal ipython3 exec_code"
).split() + TESTED_CODE
SPHINX_SILENT = (
    "toctree autosummary highlight index currentmodule module tabularcolumns graphviz image-map "
    "codeauthor testsetup testcleanup"
).split()
# What they show of a program is in its source.
FROM_CODE = "automodule autoclass autofunction automethod plot".split()
AS_CODE = {
    *SPHINX_CODE,
    *"code-cell literalinclude parsed-literal math mermaid".split(),
}
LEFT_OUT = {
    *SPHINX_SILENT,
    *FROM_CODE,
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


def find_fences(text: str, start: int, mdx: bool) -> tuple[list[Range], set[Range]]:
    """Code fences; and of those that hold text, the marks that say so."""
    code: list[Range] = []
    marks: list[Range] = []
    closings: set[int] = set()
    position = start
    last_ends = {
        comment: text.rfind(end)
        for comment, end in COMMENT_ENDS.items()
        if mdx or comment == "<!--"
    }
    while opening := FENCE_OPEN.search(text, position):
        mark, info = opening["mark"], opening["info"]
        if comment := opening["comment"]:  # a fence in it is none
            position = opening.end()
            if position <= last_ends.get(comment, -1):
                position = text.find(COMMENT_ENDS[comment], position)
            continue
        if opening.start() in closings:  # of one that holds text
            position = _line_end(text, opening.end())
            continue
        closing = re.compile(
            rf"{LINE_START}[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*{LINE_END}"
        ).search(text, opening.end())
        content = _line_end(text, opening.end())
        if closing:
            end = _line_end(text, closing.end())
            beginning = _directive_text(text, opening.span("info"))
            if info.strip().startswith(UNWRAPPED_FENCE):
                beginning = [(opening.start("info"), content)], content
            if beginning and not _is_for_generator(text, opening.span("info")):
                removed, position = beginning
                mark_start = opening.start("mark")
                marks += [(mark_start, opening.start("info")), *removed, (closing.start(), end)]
                closings.add(closing.start())
                continue
            code.append((opening.start(), end))
            position = end
        else:  # CommonMark: an unclosed fence runs to the end
            code.append((opening.start(), len(text)))
            break
    return code, {mark for mark in marks if mark[0] < mark[1]}


def hidden_in_code(text: str, start: int, end: int) -> list[Range]:
    """What is not shown of a code fence or of indented code."""
    opening = FENCE_OPEN.match(text, start)
    info = opening.span("info") if opening and opening["mark"] else (start, start)
    if _is_for_generator(text, info):
        return [(start, end)]
    hidden = [line.span() for line in HIGHLIGHT.finditer(text, start, end)]
    if RUST.match(text, start):
        hidden += [line.span() for line in HIDDEN.finditer(text, start, end)]
    if found := DIRECTIVE.match(text, *info):
        hidden += [(info[0], found.start("title")), _options(text, found.end())]
    return hidden


def _line_end(text: str, position: int) -> int:
    found = LINE_BREAK.search(text, position)
    return found.end() if found else len(text)


def _directive_text(text: str, info: Range) -> tuple[list[Range], int] | None:
    """Of a fence whose line says this: what of its beginning is left out if it holds text, and
    where its text begins. None if it is code."""
    found = DIRECTIVE.match(text, *info)
    if found is None or found["name"].rpartition(":")[2] in AS_CODE:
        return None
    title = found.start("title") if found["name"] not in UNTITLED else found.end()
    options = _options(text, found.end())
    return [(info[0], title), options], options[1]


def _is_for_generator(text: str, info: Range) -> bool:
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
        elif beginning := _directive_text(text, found.span("directive")):
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
    content = _line_end(text, line_end)
    options = OPTIONS.match(text, content)
    return (content, options.end() if options else content)
