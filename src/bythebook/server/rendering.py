"""Text of a book and of answers as HTML that is safe to put into a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from urllib.parse import urljoin, urlsplit

import nh3
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token

from bythebook.models.answer import CitationEntry
from bythebook.server.markdown_parser import BEGIN, NUMBERS, Lines, markdown, offsets_of

SCHEMES = frozenset({"http", "https", "mailto"})
SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*)\s*:", re.IGNORECASE)


def address(written: str, page: str, *, is_image: bool = False) -> str | None:
    """The address to go to; None where there is none that is safe and leads somewhere. What is
    relative is meant from `page`, the address at which the text is published."""
    scheme = SCHEME.match(written)
    if scheme:
        return written if scheme[1].lower() in SCHEMES else None
    try:
        is_web_page = urlsplit(page).scheme in ("http", "https")
        path = urlsplit(written).path
        target = urljoin(page, written)
    except ValueError:  # not an address at all
        return None
    # Where a source file or a picture beside it is published, only the book's own site knows.
    beside = is_image and not written.startswith("/")
    if not is_web_page or not written or beside or path.lower().endswith((".md", ".mdx")):
        return None
    return target


# Every element that may be there, with its attributes and the form of their values.
ALLOWED: dict[str, dict[str, str]] = {
    "a": {"href": r"(?:https?:|mailto:).*", "target": "_blank"},
    "blockquote": {},
    "br": {},
    "code": {"class": r"language-[\w+#.-]{1,40}"},
    "del": {},
    "div": {
        "class": "table|math|admonition",
        "tabindex": "0",
        "role": "region",
        "aria-label": "Table",
    },
    "em": {},
    "h3": {},
    "h4": {},
    "h5": {},
    "h6": {},
    "hr": {},
    "li": {},
    "mark": {},
    "ol": {"start": r"\d{1,9}"},
    "p": {"class": "admonition-title"},
    "pre": {},
    "span": {"class": "math"},
    "strong": {},
    "table": {},
    "tbody": {},
    "td": {"class": "align-(?:left|center|right)"},
    "th": {"class": "align-(?:left|center|right)"},
    "thead": {},
    "tr": {},
    "ul": {},
}
REL = "noopener noreferrer nofollow"


def sanitised(html: str) -> str:
    return nh3.clean(
        html,
        tags=set(ALLOWED),
        attributes={tag: set(attributes) for tag, attributes in ALLOWED.items() if attributes},
        attribute_filter=_value,
        url_schemes=set(SCHEMES),
        link_rel=REL,
        strip_comments=True,
    )


def _value(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "rel":
        return REL
    form = ALLOWED.get(tag, {}).get(attribute)
    fits = form is not None and re.fullmatch(form, value, re.IGNORECASE | re.DOTALL)
    return value if fits else None


# Around the number of a marker until it becomes a button: no text may hold these characters.
OPEN, CLOSE = "\ufdd0", "\ufdd1"
NOT_TEXT = re.compile(f"[\x00{OPEN}{CLOSE}\ud800-\udfff]")
LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
# A page has headings of its own above those of a text.
LOWERED = 2
LOWEST = 6
TABLE_OPEN = '<div class="table" tabindex="0" role="region" aria-label="Table"><table>\n'
TABLE_CLOSE = "</table></div>\n"
ADMONITION_OPEN = '<div class="admonition">\n'


class RenderedDocument:
    """One text on its way to HTML. Of `text`, the characters in `stretches` are marked; `pages`
    says by number at which address stands what a marker of an answer points to."""

    def __init__(
        self,
        text: str,
        *,
        stretches: Sequence[tuple[int, int]] = (),
        pages: Mapping[int, str] | None = None,
        page: str = "",
    ) -> None:
        self._text, self._marked = _normalised(text, stretches)
        self._pages = pages
        self._page = page
        self._lines = Lines(self._text)

    def html(self) -> str:
        """Sanitised; the number of a marker stands between OPEN and CLOSE."""
        parser = markdown()
        env = {} if self._pages is None else {NUMBERS: frozenset(self._pages)}
        tokens = parser.parse(self._text, env)
        shaped = [self._shaped(token, before) for before, token in _with_former(tokens)]
        made = str(parser.renderer.render(shaped, parser.options, env))
        return sanitised(made).replace("</mark><mark>", "")

    def _shaped(self, token: Token, before: Token | None) -> Token:
        match token.type:
            case "inline":
                is_cell = before is not None and before.tag in ("th", "td")
                where = self._lines.offsets(token, is_cell=is_cell)
                token.children = [*self._inline(token.children or [], token.content, where)]
            case "fence" | "code_block":
                skip = 1 if token.type == "fence" else 0
                shown = self._shown(token.content, self._lines.offsets(token, skip=skip))
                return _html(f"<pre><code{_language(token.info)}>{shown}</code></pre>\n")
            case "math_block":
                where = self._lines.offsets(token)
                formula = token.content.strip()
                at = token.content.index(formula)
                shown = self._shown(formula, where[at : at + len(formula)])
                return _html(f'<div class="math">{shown}</div>\n')
            case "heading_open" | "heading_close":
                token.tag = f"h{min(int(token.tag[1]) + LOWERED, LOWEST)}"
            case "table_open":
                return _html(TABLE_OPEN)
            case "table_close":
                return _html(TABLE_CLOSE)
            case "th_open" | "td_open":
                aligned = str(token.attrs.pop("style", "")).removeprefix("text-align:")
                token.attrs = {"class": f"align-{aligned}"} if aligned else {}
            case "container_admonition_open":
                title = Token("title", "", 0, content=admonition_title(token.info), map=token.map)
                shown = self._shown(title.content, self._lines.offsets(title))
                return _html(f'{ADMONITION_OPEN}<p class="admonition-title">{shown}</p>\n')
            case "admonition_open":
                return _html(ADMONITION_OPEN)
            case "container_admonition_close" | "admonition_close":
                return _html("</div>\n")
        return token

    def _inline(
        self, children: Sequence[Token], src: str, where: Sequence[int], linked: bool = False
    ) -> Iterator[Token]:
        """`where[n]` is where `src[n]` stands in the text."""
        pages = self._pages_of(children)
        dropped: list[bool] = []
        after = 0
        for token, page in zip(children, pages, strict=True):
            match token.type:
                case "link_open":
                    target = None if linked else address(str(token.attrGet("href") or ""), page)
                    dropped.append(target is None)
                    if target is not None:
                        yield _html(_link(target))
                case "link_close":
                    if not dropped.pop():
                        yield token
                case "image":
                    inside = linked or any(not each for each in dropped)
                    yield from self._image(token, page, where, inside)
                case "cite":
                    yield _html(f"{OPEN}{token.info}{CLOSE}")
                case "softbreak":
                    at = token.meta[BEGIN]
                    yield _html(self._shown("\n", where[at : at + 1]))
                case "hardbreak":
                    yield _html("<br>")
                case "text" | "text_special" | "code_inline" | "math_inline" | "math_inline_double":
                    offsets = offsets_of(token, src, after)
                    after = offsets[-1] + 1 if offsets else after
                    shown = self._shown(token.content, [where[offset] for offset in offsets])
                    yield _html(_wrapped(token.type, shown))
                case _:
                    yield token

    def _image(
        self, token: Token, page: str, where: Sequence[int], linked: bool
    ) -> Iterator[Token]:
        """Nothing is loaded from elsewhere: a picture is a link under its description."""
        src = str(token.attrGet("src") or "")
        target = None if linked else address(src, page, is_image=True)
        if target is not None:
            yield _html(_link(target))
        label = token.meta[BEGIN] + len("![")
        inner = list(self._inline(token.children or [], token.content, where[label:], linked=True))
        yield from inner or [_html("Image")]
        if target is not None:
            yield _html("</a>")

    def _pages_of(self, children: Sequence[Token]) -> list[str]:
        """What a link is relative to: in an answer, the page that the next marker cites."""
        page = self._page
        found: list[str] = []
        for token in reversed(children):
            if token.type == "cite" and self._pages:
                page = self._pages[int(token.info)]
            found.append(page)
        return found[::-1]

    def _shown(self, content: str, where: Sequence[int]) -> str:
        """Escaped, with marks around what is marked."""
        flags = [place >= 0 and bool(self._marked[place]) for place in where]
        parts: list[str] = []
        for is_marked, run in groupby(zip(content, flags, strict=True), key=lambda each: each[1]):
            escaped = escapeHtml("".join(character for character, _ in run))
            parts.append(f"<mark>{escaped}</mark>" if is_marked else escaped)
        return "".join(parts)


def _normalised(text: str, stretches: Sequence[tuple[int, int]]) -> tuple[str, bytearray]:
    """The text with plain line breaks and nothing that HTML can't hold, and what of it is marked.
    One more character is never marked: the end of the last line."""
    marked = bytearray(len(text) + 1)
    for start, end in stretches:
        start, end = max(start, 0), min(end, len(text))
        if start < end:
            marked[start:end] = b"\x01" * (end - start)
    text = NOT_TEXT.sub("\ufffd", text)
    if "\r" in text:
        kept = [at for at in range(len(text)) if text[at : at + 2] != "\r\n"]
        marked = bytearray([*(marked[at] for at in kept), 0])
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, marked


def _with_former(tokens: Sequence[Token]) -> Iterator[tuple[Token | None, Token]]:
    return zip([None, *tokens], tokens, strict=False)


def _html(made: str) -> Token:
    return Token("html_inline", "", 0, content=made)


def _link(target: str) -> str:
    return f'<a href="{escapeHtml(target)}" target="_blank">'


def _wrapped(kind: str, shown: str) -> str:
    if kind == "code_inline":
        return f"<code>{shown}</code>"
    if kind.startswith("math"):
        return f'<span class="math">{shown}</span>'
    return shown


def _language(info: str) -> str:
    found = LANGUAGE.match(info.strip())
    return f' class="language-{found[0]}"' if found else ""


def admonition_title(info: str) -> str:
    """`note`, `note My title` and `note[My title]`."""
    kind, _, title = info.strip().replace("[", " ", 1).partition(" ")
    return title.strip().removesuffix("]") or kind.capitalize()


def passage_html(text: str, stretches: Sequence[tuple[int, int]] = (), page: str = "") -> str:
    """The passage with `<mark>` around the stretches, which are offsets into `text`. A stretch
    that crosses elements gives several. Relative links are meant from `page`."""
    return RenderedDocument(text, stretches=stretches, page=page).html()


PLACE = re.compile(f"{OPEN}(\\d+){CLOSE}")


def answer_html(text: str, citations: Sequence[CitationEntry]) -> str:
    """The answer, with a button for each marker `[n]` that has a citation."""
    pages = {citation.number: citation.source_url for citation in citations}
    titles = {citation.number: citation.section or citation.chapter for citation in citations}
    return _with_buttons(RenderedDocument(text, pages=pages).html(), titles)


def unfinished_html(text: str, sources: int) -> str:
    """The answer so far: its citations are not known yet, only how many there can be."""
    pages = dict.fromkeys(range(1, sources + 1), "")
    return _with_buttons(RenderedDocument(text, pages=pages).html(), {})


def _with_buttons(html: str, titles: Mapping[int, str]) -> str:
    """Made last: nothing that a text holds can look like one."""

    def button(found: re.Match[str]) -> str:
        number = int(found[1])
        title = titles.get(number)
        label = f"Source {number}: {title}" if title else f"Source {number}"
        return (
            f'<button type="button" class="cite" data-n="{number}" '
            f'aria-label="{escape(label)}">{number}</button>'
        )

    return PLACE.sub(button, html)
