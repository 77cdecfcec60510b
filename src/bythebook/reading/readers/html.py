"""HTML: the main text of a page as Markdown, with the page's own ids as anchors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

from bythebook.errors import InputError
from bythebook.reading.readers import Converted
from bythebook.reading.readers.markdown_writer import MarkdownWriter, code_span
from bythebook.reading.readers.markup_tokens import (
    MarkupToken,
    decoded,
    ends_of,
    language_of,
    main_part,
    title_of,
    tokens,
)
from bythebook.reading.readers.table_cells import ALL_ROWS, MAX_COLUMNS, Cell, filled, span

HIDDEN = frozenset(
    "head script style noscript template svg canvas button select dialog iframe audio video object "
    "textarea input title datalist map".split()
)
HIDDEN_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "complementary"})
MAY_HIDE = re.compile(r"hidden|display|role|linenos|headerlink|anchor|hash-link", re.IGNORECASE)
HIDING_CLASSES = frozenset({"headerlink", "anchor", "hash-link", "anchorjs-link", "linenos"})
# What sites call the parts around their text, as a class or id.
BOILERPLATE = frozenset(
    "sidebar sphinxsidebar side-bar navbar nav-bar breadcrumb breadcrumbs toc table-of-contents "
    "on-this-page pagination pager prev-next skip-link skip-nav skip-to-content cookie-banner "
    "cookie-consent cookie-notice site-header site-footer page-footer edit-this-page".split()
)
MAY_BE_BOILERPLATE = re.compile("|".join(sorted(BOILERPLATE)), re.IGNORECASE)
# An element with more of the page's text than this is no boilerplate, whatever it is called.
LARGE_SHARE = 0.4
CODE = frozenset({"code", "kbd", "samp", "tt"})
INLINE = frozenset(
    "a abbr b bdi bdo big cite data del dfn em font i img ins label mark q rp rt ruby s small span "
    "strike strong time u var wbr".split()
)
# A table that holds these is there for the layout of a page.
NOT_IN_A_CELL = frozenset("table pre ul ol dl h1 h2 h3 h4 h5 h6 blockquote hr section".split())
HEADINGS = {f"h{level}": level for level in range(1, 7)}
LANGUAGE = re.compile(r"(?:language|lang|highlight|brush|sourceCode)[-: ]+([\w+#-]+)")
MATHS_TYPE = re.compile(r"math/tex", re.IGNORECASE)
MAX_ROWS = 5_000
BREAK = "\x00"
AROUND_MAIN = frozenset({"header", "footer", "nav", "aside"})


def read(data: bytes, path: str) -> Converted:
    if data.count(b"\0") > len(data) // 4 and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is not an HTML file.", action="Remove it from the book.")
    found = list(tokens(decoded(data)))
    start, end = main_part(found)
    whole = (start, end) == (0, len(found))
    writer = MarkdownWriter(path)
    writer.mark("")
    if not any(token.kind == "open" and token.name == "h1" for token in found[start:end]):
        writer.heading(1, title_of(found))
    skipped = AROUND_MAIN if whole else AROUND_MAIN - {"header"}
    HtmlText(writer, found[start:end], skipped=skipped, of_site=True).write()
    return writer.finish(language=language_of(found))


class HtmlText:
    """Goes through the tokens of a page once and writes what a reader sees. `base` is the link to
    the page, `levels` how much deeper its headings are; `of_site` says that it may have boilerplate
    around its text."""

    def __init__(
        self,
        writer: MarkdownWriter,
        found: Sequence[MarkupToken],
        *,
        skipped: frozenset[str] = frozenset(),
        of_site: bool = False,
        base: str = "",
        levels: int = 0,
    ) -> None:
        self.writer = writer
        self.found = found
        self.skipped = skipped
        self.of_site = of_site
        self.base = base
        self.levels = levels
        self.ends = ends_of(found)
        self.text: list[str] = []
        self.lists: list[int | None] = []
        self.new_item = False
        self.in_item = False
        self.quotes = 0
        self.heading = 0
        self.anchor = ""
        self.language = ""

    def write(self) -> None:
        index = 0
        while index < len(self.found):
            token = self.found[index]
            index += 1
            if token.kind == "text":
                self._add_text(token)
            elif token.kind == "close":
                self._close(token.name)
            elif self._is_hidden(token) or self._is_boilerplate(token, index - 1):
                index = self._after(index - 1)
            else:
                index = self._open(token, index - 1)
        self._flush()

    def _after(self, index: int) -> int:
        """Behind the element that begins here; a tag that is never closed stands alone."""
        return self.ends.get(index, index) + 1

    def _is_hidden(self, token: MarkupToken) -> bool:
        if token.name == "script" and MATHS_TYPE.search(token.raw):
            return False
        if token.name in HIDDEN or token.name in self.skipped:
            return True
        if not token.raw or not MAY_HIDE.search(token.raw):
            return False
        attributes = token.attributes()
        return (
            "hidden" in attributes
            or attributes.get("aria-hidden") == "true"
            or attributes.get("role") in HIDDEN_ROLES
            or bool(HIDING_CLASSES & set(attributes.get("class", "").split()))
            or "display:none" in attributes.get("style", "").replace(" ", "")
        )

    def _is_boilerplate(self, token: MarkupToken, index: int) -> bool:
        if not self.of_site or not token.raw or not MAY_BE_BOILERPLATE.search(token.raw):
            return False
        attributes = token.attributes()
        names = {*attributes.get("class", "").lower().split(), attributes.get("id", "").lower()}
        if not names & BOILERPLATE:
            return False
        end = self.ends.get(index, index)
        return self._letters[end] - self._letters[index] <= LARGE_SHARE * self._letters[-1]

    @cached_property
    def _letters(self) -> list[int]:
        """Letters before each token."""
        counts = (len(token.raw.strip()) if token.kind == "text" else 0 for token in self.found)
        return list(accumulate(counts, initial=0))

    def _open(self, token: MarkupToken, index: int) -> int:
        """Take in what begins here; the index to go on with."""
        name = token.name
        if name == "br":
            self.text.append(BREAK)
        elif name in CODE:
            if index in self.ends:
                self.text.append(code_span(self._plain(index)))
                return self._after(index)
        elif name in ("math", "script"):
            self._maths(token, index)
            return self._after(index)
        elif name == "sup":
            self._raised(index)
            return self._after(index)
        elif name in INLINE:
            self._inline(token)
        elif name != "sub":
            return self._open_block(token, index)
        return index + 1

    def _inline(self, token: MarkupToken) -> None:
        if token.name == "img" and "math" in token.raw:
            alternative = token.attributes().get("alt", "")
            self.text.append(f"${alternative}$" if alternative else "")
        elif token.name == "a" and not self.text and not self.heading:
            attributes = token.attributes()
            if "href" not in attributes:
                self.anchor = attributes.get("id") or attributes.get("name") or self.anchor
        elif token.name == "a" and self.heading:
            attributes = token.attributes()
            self.anchor = self.anchor or attributes.get("id") or attributes.get("name") or ""

    def _open_block(self, token: MarkupToken, index: int) -> int:
        name = token.name
        self._flush()
        if name in HEADINGS:
            self.heading = HEADINGS[name]
            self.anchor = token.attributes().get("id") or self.anchor
        elif name == "pre":
            self.writer.code(self._code(index), self._language(token, index))
            return self._after(index)
        elif name == "table" and index in self.ends and index not in self._layout_tables:
            self.writer.table(self._table(index))
            return self._after(index)
        elif name in ("ul", "ol"):
            start = token.attributes().get("start", "1") if name == "ol" else ""
            number = int(start) if start.isascii() and start.isdecimal() and len(start) < 7 else 1
            self.lists.append(number if name == "ol" else None)
        elif name == "li":
            self.new_item = self.in_item = True
        elif name == "blockquote":
            self.quotes += 1
        if token.raw and "id" in token.raw and name not in HEADINGS:
            self.anchor = token.attributes().get("id") or self.anchor
        if token.raw and name == "div":
            self.language = _language_in(token)
        return index + 1

    def _close(self, name: str) -> None:
        if name in INLINE or name in CODE or name in ("sup", "sub", "math"):
            return
        self._flush()
        if name in HEADINGS:
            self.heading = 0
        elif name in ("ul", "ol") and self.lists:
            self.lists.pop()
            self.in_item = bool(self.lists)
            self.new_item = False
        elif name == "li":
            self.new_item = self.in_item = False
        elif name == "blockquote":
            self.quotes = max(0, self.quotes - 1)

    def _add_text(self, token: MarkupToken) -> None:
        if not token.name:  # what stands in a script or a title has a name
            self.text.append(token.raw)

    def _flush(self) -> None:
        """Write the text collected since the last block."""
        if not self.text:
            return
        lines = "".join(self.text).split(BREAK)
        self.text = []
        text = "\n".join(line for line in (" ".join(line.split()) for line in lines) if line)
        if not text:
            return
        if self.heading:
            if self.anchor:
                self.writer.mark(f"{self.base}#{self.anchor}")
                self.anchor = ""
            heading = text.replace("\n", " ").rstrip("¶ ") or text
            self.writer.heading(self.heading + self.levels, heading)
        elif self.new_item:
            self.new_item = False
            self.writer.item(max(0, len(self.lists) - 1), self._next_mark(), text)
        elif self.in_item:
            self.writer.below(max(0, len(self.lists) - 1), text)
        elif self.quotes:
            self.writer.quote(text)
        else:
            self.writer.paragraph(text)

    def _next_mark(self) -> str:
        number = self.lists[-1] if self.lists else None
        if number is None:
            return "-"
        self.lists[-1] = number + 1
        return f"{number}."

    def _plain(self, index: int) -> str:
        """All text of the element that begins here."""
        end = self.ends.get(index, index)
        inside = self.found[index + 1 : end]
        return "".join(token.raw for token in inside if token.kind == "text")

    def _code(self, index: int) -> str:
        parts: list[str] = []
        at, end = index + 1, self.ends.get(index, index)
        while at < end:
            token = self.found[at]
            if token.kind == "open" and self._is_hidden(token) and at in self.ends:
                at = self.ends[at]
            elif token.kind == "text":
                parts.append(token.raw)
            elif token.name == "br":
                parts.append("\n")
            at += 1
        return "".join(parts)

    def _language(self, token: MarkupToken, index: int) -> str:
        inner = self.found[index + 1] if index + 1 < len(self.found) else token
        named = _language_in(token) or (_language_in(inner) if inner.name == "code" else "")
        return named or self.language

    def _maths(self, token: MarkupToken, index: int) -> None:
        """TeX where the page has it, else the signs one after the other."""
        attributes = token.attributes()
        end = self.ends.get(index, index)
        tex = attributes.get("alttext", "")
        if token.name == "script":
            tex = self._plain(index)
        for at in range(index + 1, end if not tex else index + 1):
            inner = self.found[at]
            if inner.name == "annotation" and inner.kind == "open" and "tex" in inner.raw.lower():
                tex = self._plain(at)
                break
        tex = " ".join((tex or self._plain(index)).split())
        block = attributes.get("display") == "block" or "mode=display" in token.raw
        if block and not self.heading and not self.in_item:
            self._flush()
            self.writer.maths(tex)
        elif tex:
            self.text.append(f"${tex}$")

    def _raised(self, index: int) -> None:
        """An exponent is told from the number before it; a reference to a note is not."""
        text = " ".join(self._plain(index).split())
        end = self.ends.get(index, index)
        is_link = any(token.name == "a" for token in self.found[index:end])
        exponent = re.fullmatch(r"[-−+]?[\w.]{1,6}", text) and not re.fullmatch(
            r"st|nd|rd|th", text
        )
        before = "".join(self.text[-1:]).rstrip()[-1:]
        power = exponent and not is_link and (before.isalnum() or before in ")]")
        self.text.append(f"^{text}" if power else f" {text}" if is_link else text)

    @cached_property
    def _layout_tables(self) -> set[int]:
        """Tables with blocks inside; each is looked at once, however deep it is in others."""
        layout: set[int] = set()
        inside: list[int] = []
        for index, token in enumerate(self.found):
            if token.kind == "open" and token.name in NOT_IN_A_CELL and inside:
                layout.add(inside[-1])
            if token.kind == "open" and token.name == "table" and index in self.ends:
                inside.append(index)
            elif token.kind == "close" and token.name == "table" and inside:
                inside.pop()
        return layout

    def _table(self, index: int) -> list[list[str]]:
        rows: list[list[Cell]] = []
        outer, self.text = self.text, []
        at, end = index + 1, self.ends[index]
        while at < end and len(rows) <= MAX_ROWS:
            token = self.found[at]
            at += 1
            if token.kind == "text":
                self._add_text(token)
            elif token.kind == "close":
                self.text.append(" ")
            elif token.name == "tr":
                rows.append([])
            elif token.name in ("td", "th"):
                rows = rows or [[]]
                if len(rows[-1]) < MAX_COLUMNS:
                    spans = token.attributes() if "span" in token.raw.lower() else {}
                    rows[-1].append(
                        Cell("", span(spans.get("rowspan"), ALL_ROWS), span(spans.get("colspan")))
                    )
            elif self._is_hidden(token):
                at = self._after(at - 1)
            elif token.name in CODE | INLINE or token.name in ("math", "sup", "sub", "br"):
                at = self._open(token, at - 1)
            else:
                self.text.append(" ")
            if rows and rows[-1]:
                rows[-1][-1].text += "".join(self.text).replace(BREAK, " ")
            self.text = []
        self.text = outer
        return filled(rows)


def _language_in(token: MarkupToken) -> str:
    if not token.raw:
        return ""
    attributes = token.attributes()
    named = LANGUAGE.search(attributes.get("class", ""))
    return attributes.get("data-lang") or (named[1] if named else "")
