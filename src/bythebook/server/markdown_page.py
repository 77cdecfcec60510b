"""A page made of Markdown: no script, and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

STYLE = """
:root { color-scheme: light dark; --text: #1d2329; --soft: #59636e; --back: #fff;
  --line: #d6dbe1; --code: #f3f5f7; --link: #0b57b0; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e8ec; --soft: #9aa4ae; --back: #14181c;
  --line: #343b43; --code: #1e242a; --link: #7ab8ff; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0 auto; max-width: 92rem; padding: 1rem; background: var(--back);
  color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }
header, main { min-width: 0; max-width: 60rem; }
h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
h3 { margin-top: 2.5rem; }
a { color: var(--link); }
code, pre { background: var(--code); border-radius: .3rem;
  font: .875em/1.5 ui-monospace, monospace; }
code { padding: .1em .3em; overflow-wrap: anywhere; }
pre { padding: .8rem 1rem; overflow-x: auto; }
pre code { padding: 0; overflow-wrap: normal; font-size: 1em; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .8rem .4rem 0; text-align: left;
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
td:first-child code { white-space: nowrap; }
nav { font-size: .9rem; }
nav h2 { margin-top: 1rem; font-size: 1rem; border: 0; }
nav ul { list-style: none; padding-left: 0; }
nav ul ul { padding-left: .8rem; }
nav li { margin: .3rem 0; }
nav code { background: none; padding: 0; }
.skip { position: absolute; left: -99rem; }
.skip:focus { position: static; }
@media (min-width: 70rem) {
  body { display: grid; column-gap: 3rem; padding: 0 2rem 4rem;
    grid-template: auto 1fr / 21rem minmax(0, 1fr); }
  nav { grid-area: 1 / 1 / 3 / 2; align-self: start; position: sticky; top: 0;
    max-height: 100vh; overflow-y: auto; padding-bottom: 2rem; }
  header { grid-area: 1 / 2; }
  main { grid-area: 2 / 2; }
}
@media (max-width: 40rem) { th, td { padding-right: .6rem; } body { font-size: .95rem; } }
"""
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
