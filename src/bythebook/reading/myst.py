"""What MyST and Sphinx mean by the lines of a Markdown page before it is parsed: terms with their
definitions, labels, and references to other places of the book.

A term gets what makes it one in plain Markdown: a heading in a glossary, bold letters elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bythebook.reading.readers import Titled
from bythebook.reading.reference_marks import marked
from bythebook.reading.slugs import RULES, plain_heading
from bythebook.reading.sphinx_names import AS_CODE, NUMBERED, TITLE_ROLES, number_prefix, plain_role

LINE = re.compile(r"[^\r\n]*+(?>\r\n?|\n|\Z)")
FENCE = re.compile(
    r"(?P<indent>[ \t>]*+)(?P<mark>`{3,}+|~{3,}+|:{3,}+)[ \t]*+(?:\{(?P<name>[\w:.+-]++)\})?+"
    r"(?P<info>[^\r\n]*+)"
)
HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t]++(?P<title>[^\r\n]*+)")
RULE = re.compile(r" {0,3}(?:=++|-++)[ \t]*+[\r\n]*+$")
# What a term can't be: an item, a quotation, a row, a heading, a fence, a comment, an option.
NO_TERM = re.compile(r"\s|[-+*>|#%:<]\s|[>|#%:]|\d{1,9}[.)]\s|`{3}|~{3}|={3}|-{3}")
DEFINITION = re.compile(r"(?P<mark> {0,3}:[ \t]++)(?=[^\s:])")
MAY_DEFINE = re.compile(r"^ {0,3}:[ \t]|\{glossary\}", re.MULTILINE)
NOTE = re.compile(r"\[[^\[\]\r\n]++\]:")
OPTION = re.compile(r"[ \t]*+:[\w-]++:(?:\s|$)")
LABEL = re.compile(r"\((?P<label>[\w:.+-]++)\)=[ \t]*+[\r\n]*+$")
ROLE_MARK = re.compile(r"\{[\w:.+-]++\}(?=`)")
REFERENCE = re.compile(
    r"(?<!`)\{(?P<role>[a-z][a-z:-]*+)\}`(?P<text>[^`<>\r\n]++)`(?!`)"
    r"|(?<!!)\[\]\(<?(?P<target>[^()\s<>:]++|project:[^()\s<>]++)>?\)"
)
MAY_REFER = re.compile(r"\{[a-z][a-z:-]*+\}`|\[\]\(|^\([\w:.+-]++\)=", re.MULTILINE)


@dataclass(frozen=True)
class Line:
    """A line with its end. `depth` is the number of fences around it, or behind it if it opens or
    closes one."""

    text: str
    depth: int
    is_prose: bool

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip(" \t"))


@dataclass(frozen=True)
class _Fence:
    mark: str
    is_code: bool

    def is_closed_by(self, found: re.Match[str]) -> bool:
        return not found["name"] and not found["info"] and found["mark"].startswith(self.mark)


def lines_of(text: str) -> list[Line]:
    found: list[Line] = []
    fences: list[_Fence] = []
    raw = [line[0] for line in LINE.finditer(text) if line[0]]
    front = 0
    if raw and raw[0].strip() == "---":
        front = next((n for n, line in enumerate(raw) if n and line.strip() == "---"), -1) + 1
    for number, line in enumerate(raw):
        is_prose = number >= front and not (fences and fences[-1].is_code)
        fence = FENCE.match(line) if number >= front else None
        if fence and fences and fences[-1].is_closed_by(fence):
            fences.pop()
            is_prose = False
        elif fence and is_prose and _opens(fence):
            fences.append(_Fence(fence["mark"], _is_code(fence)))
            is_prose = False
        found.append(Line(line, len(fences), is_prose))
    return found


def _opens(fence: re.Match[str]) -> bool:
    if fence["mark"][0] == ":":
        return bool(fence["name"] or fence["info"])
    return "`" not in fence["info"]


def _is_code(fence: re.Match[str]) -> bool:
    return fence["mark"][0] != ":" and (not fence["name"] or plain_role(fence["name"]) in AS_CODE)


def with_terms(text: str) -> str:
    """The page with its terms as headings or in bold letters; the same object if it has none."""
    if not MAY_DEFINE.search(text):
        return text
    lines = lines_of(text)
    shown: list[str] = []
    level = at = 0
    while at < len(lines):
        line = lines[at]
        heading = HEADING.match(line.text) if line.is_prose else None
        opening = FENCE.match(line.text)
        if heading:
            level = len(heading["marks"])
        if opening and opening["name"] == "glossary" and not line.is_prose:
            end = _end_of(lines, at)
            ends_section = _ends_section(lines, end)
            shown += _glossary(lines[at + 1 : end], level + 1 if ends_section else 0)
            at = end + 1
        elif line.is_prose and (mark := DEFINITION.match(line.text)) and _has_term(shown):
            end = _end_of_definition(lines, at)
            first, *rest = _dedented(lines[at:end], mark.end())
            shown += [*_with_term(shown, first), *rest]
            at = end
        else:
            shown.append(line.text)
            at += 1
    filled = "".join(shown)
    return text if filled == text else filled


def _end_of(lines: list[Line], opening: int) -> int:
    """The line that closes a fence, or the end of the page."""
    around = lines[opening].depth - 1
    below = (n for n in range(opening + 1, len(lines)) if lines[n].depth <= around)
    return next(below, len(lines))


def _ends_section(lines: list[Line], end: int) -> bool:
    """Whether no text of the same section follows but notes and the targets of links."""
    for line in lines[end + 1 :]:
        if HEADING.match(line.text) or LABEL.match(line.text):
            return True
        if not (line.is_blank or line.indent or NOTE.match(line.text)):
            return False
    return True


def _glossary(lines: list[Line], level: int) -> list[str]:
    """With `level` 0 the terms are bold, since text of the section above follows."""
    shown: list[str] = []
    terms: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        mark = DEFINITION.match(line.text)
        if line.is_blank or OPTION.match(line.text):
            shown.append("\n" if line.is_blank else "")
            at += 1
        elif not line.indent and not mark:
            terms.append(line.text.strip())
            at += 1
        else:
            end = _end_of_definition(lines, at)
            body = _dedented(lines[at:end], mark.end() if mark else line.indent)
            title = ", ".join(terms)
            if terms and level:
                shown.append(f"{'#' * min(level, 6)} {title}\n\n")
            elif terms:
                shown.append(f"**{title}**: ")
            shown += body
            terms = []
            at = end
    return [*shown, *(f"{term}\n\n" for term in terms)]


def _end_of_definition(lines: list[Line], at: int) -> int:
    """The first line behind it that is not indented."""
    end = at + 1
    while end < len(lines) and (lines[end].is_blank or lines[end].indent >= 2):
        end += 1
    while end - 1 > at and lines[end - 1].is_blank:
        end -= 1
    return end


def _dedented(lines: list[Line], width: int) -> list[str]:
    first, *rest = lines
    below = min((line.indent for line in rest if not line.is_blank), default=width)
    below = min(below, max(width, 4))
    return [first.text[width:], *(line.text[min(below, line.indent) :] for line in rest)]


def _has_term(shown: list[str]) -> bool:
    """Whether the last line of text may be what is defined: a paragraph of one line, or one that
    was defined already."""
    lines = [line for line in shown[-3:] if line.strip()]
    return bool(lines) and not NO_TERM.match(lines[-1])


def _with_term(shown: list[str], definition: str) -> Iterator[str]:
    """The definition behind its term, which is taken back; a further one is a paragraph."""
    at = next(n for n in range(len(shown) - 1, -1, -1) if shown[n].strip())
    term = shown[at].strip()
    if len(shown) - 1 - at > 1 or (at and shown[at - 1].strip() and at < len(shown) - 1):
        yield from ("\n", definition)
        return
    del shown[at:]
    is_bold = term.startswith("**") and term.endswith("**") and len(term) > 4
    if is_bold and term[-3] in ".!?:":
        yield f"{term} {definition}"
    else:
        yield f"{term if is_bold else f'**{term}**'}: {definition}"


def with_references(text: str) -> tuple[str, tuple[Titled, ...]]:
    """The page with its references marked, and its labels with their titles."""
    if not MAY_REFER.search(text):
        return text, ()
    lines = lines_of(text)
    anchors = _anchors(lines) if "[](#" in text else {}

    def put(found: re.Match[str]) -> str:
        if found["target"]:
            target = found["target"]
            return anchors.get(target) or marked("any", target)
        role, words = plain_role(found["role"]), found["text"]
        if role in TITLE_ROLES or role == "any":
            return marked(role, words)
        if prefix := number_prefix(role, words):
            return prefix + words
        return words if role in NUMBERED else found[0]

    shown = [REFERENCE.sub(put, line.text) if line.is_prose else line.text for line in lines]
    return "".join(shown), tuple(_labels(lines))


def _title(heading: str) -> str:
    return plain_heading(ROLE_MARK.sub("", heading.strip().rstrip("#")))


def _anchors(lines: list[Line]) -> dict[str, str]:
    """What links to headings of the page itself are called."""
    headings = (HEADING.match(line.text) for line in lines if line.is_prose)
    titles = [_title(found["title"]) for found in headings if found]
    return {f"#{RULES['plain'](title)}": title for title in titles}


def _labels(lines: list[Line]) -> Iterator[Titled]:
    waiting: list[str] = []
    for line, below in zip(lines, [*lines[1:], Line("", 0, False)], strict=True):
        if line.is_blank or not line.is_prose:
            continue
        if label := LABEL.match(line.text):
            waiting.append(label["label"].lower())
            continue
        heading = HEADING.match(line.text)
        title = heading["title"] if heading else line.text if RULE.match(below.text) else ""
        if waiting and title and (title := _title(title)):
            yield from ((title, label) for label in waiting)
        waiting = []
