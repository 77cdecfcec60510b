"""A page made of Markdown: no script, and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from importlib import resources
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

STYLE = (resources.files("bythebook.server") / "markdown_page.css").read_text("utf-8")
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
PAGE_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


def anchor(heading: str) -> str:
    """The name that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def page(markdown: str) -> str:
    """The whole page; serve it with the header `Content-Security-Policy: PAGE_POLICY`."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    # A wide table scrolls by itself, and the page stays where it is.
    parser.add_render_rule("table_open", lambda *_: '<div class="table" tabindex="0"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    tokens = parser.parse(markdown)
    title = _name_headings(tokens)
    start, end = _contents(tokens)

    def html(part: list[Token]) -> str:
        return str(parser.renderer.render(part, parser.options, {}))

    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#routes">Skip the contents</a>\n'
        f"<header>\n{html(tokens[:start])}</header>\n"
        f'<nav aria-label="Contents">\n{html(tokens[start:end])}</nav>\n'
        f'<main id="routes">\n{html(tokens[end:])}</main>\n</body>\n</html>\n'
    )


def _name_headings(tokens: list[Token]) -> str:
    """Give headings their anchors; returns the first one's text."""
    title = ""
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            text = "".join(child.content for child in inline.children or [])
            token.attrSet("id", anchor(text))
            title = title or text
    return title


def _contents(tokens: list[Token]) -> tuple[int, int]:
    """Where the list of contents begins and ends; nowhere in a text that has none."""
    parts = [at for at, token in enumerate(tokens) if token.tag == "h2" and token.nesting == 1]
    for at, following in pairwise([*parts, len(tokens)]):
        if tokens[at].attrGet("id") == "contents":
            return at, following
    return 0, 0
