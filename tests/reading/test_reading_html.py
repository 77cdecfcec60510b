"""HTML files: the main text, with the page's own ids; no file takes long."""

from __future__ import annotations

import pytest

from bythebook.errors import InputError
from reading.converting import converted, page_of, text_of
from reading.reading_tools import words

PAGE = """<!doctype html><html lang="en-GB"><head><title>Loops | A Course</title>
<style>p { color: red }</style></head><body>
<header><h1>A Course</h1></header><nav><ul><li><a href="x">Menu</a></ul></nav>
<main><h1 id="loops">Loops<a class="headerlink" href="#loops">¶</a></h1>
<p>A <b>loop</b> runs while <code>x &lt; y</code> holds.<br>E = mc<sup>2</sup>, the
   1<sup>st</sup> time<sup><a href="#n">3</a></sup>.
<section id="for-loops"><h2>The <code>for</code> loop</h2>
<p>Maths: <math alttext="\\frac{a}{b}"><mi>a</mi></math>, and more &amp; more.</p>
<div class="highlight-python"><pre><span class="linenos">1</span>for x in y:
    print("&lt;b&gt;")
</pre></div>
<ul><li>one<ul><li>inner<li>inner two</ul><li><p>two</p><p>more of two</p></ul>
<ol start=3><li>three<li>four</ol>
<table><thead><tr><th>Name<th>Value</thead><tr><td>a|b<td><code>1</code><tr><td>c<td>2</table>
<blockquote><p>Quoted words</p></blockquote><aside>Advertisement</aside>
<p># no heading</p><p hidden>Hidden</p><div style="display: none">Hidden</div>
<math display="block"><semantics><mi>x</mi>
<annotation encoding="application/x-tex">x = 1</annotation></semantics></math>
<dl><dt>Term<dd>Definition</dl></section></main>
<footer>Imprint</footer><script>var a = "<p>no</p>";</script></body></html>"""


def test_a_page_of_a_documentation_site() -> None:
    made = converted(PAGE.encode(), "a.html")
    assert made.text == (
        "# Loops\n\n"
        "A loop runs while `x < y` holds.\nE = mc^2, the 1st time 3.\n\n"
        "## The `for` loop\n\n"
        "Maths: $\\frac{a}{b}$, and more & more.\n\n"
        '```python\nfor x in y:\n    print("<b>")\n```\n\n'
        "- one\n   - inner\n   - inner two\n- two\n   more of two\n\n"
        "3. three\n4. four\n\n"
        "| Name | Value |\n| --- | --- |\n| a\\|b | `1` |\n| c | 2 |\n\n"
        "> Quoted words\n\n\\# no heading\n\n$$\nx = 1\n$$\n\nTerm\n\nDefinition\n"
    )
    assert made.language == "en"
    assert [place.link for place in made.places] == ["#loops", "#for-loops"]


def test_passages_link_to_the_ids_of_the_page() -> None:
    html = (
        f"<title>Guide</title><body><p>{words(120)}</p><h2 id='first part'>First</h2>"
        f"<p>{words(120)}</p><a name='old'></a><h2>Second</h2><p>{words(120)}</p>"
        f"<h3>Without an id</h3><p>{words(120)}</p>"
    )
    page = page_of(html.encode(), "guide/a.html")
    assert [chunk.metadata.title for chunk in page.chunks] == ["Guide"] * 4
    assert page.urls == [
        "https://example.org/guide/a.html",
        "https://example.org/guide/a.html#first%20part",
        "https://example.org/guide/a.html#old",
        "https://example.org/guide/a.html#old",
    ]


def test_an_old_page_of_layout_tables_in_an_old_encoding() -> None:
    html = (
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">'
        "<title>Gr\xf6\xdfe</title></head><body bgcolor=white><table><tr><td><ul><li>Menu</ul>"
        "<td><font size=+1><b>Willkommen</b></font><p>Ein Absatz \xfcber B\xfccher<p>Noch einer"
        "<table border><tr><th>A<th>B<tr><td>1<td>2</table></table>"
    )
    assert text_of(html.encode("latin-1"), "a.htm") == (
        "# Größe\n\n- Menu\n\nWillkommen\n\nEin Absatz über Bücher\n\nNoch einer\n\n"
        "| A | B |\n| --- | --- |\n| 1 | 2 |\n"
    )


def test_an_article_without_main() -> None:
    html = "<body><div>Cookies?</div><article><header><h1>Title</h1></header><p>Text of it all"
    html += " that is long</article><div>Related</div>"
    assert text_of(html.encode(), "a.html") == "# Title\n\nText of it all that is long\n"


def test_parts_around_the_text_are_known_by_their_names() -> None:
    text = "Valves open at two bar and close again at one. " * 5
    html = (
        '<body><div class="left Sidebar"><a href="a">Pumps</a></div><div id="toc">Contents</div>'
        f'<ul class="breadcrumbs"><li>Home</li></ul><div class="content">{text}</div>'
        '<p class="tocsin">A bell.</p><div class="cookie-banner">We use cookies</div></body>'
    )
    shown = text_of(html.encode(), "a.html")
    assert "Valves open" in shown and "A bell." in shown
    for word in ("Pumps", "Contents", "Home", "cookies"):
        assert word not in shown
    # A name that somebody gave to the text itself hides nothing.
    assert "Valves" in text_of(f'<div class="sidebar">{text}</div>'.encode(), "a.html")


def test_a_main_part_without_text_is_not_the_text() -> None:
    html = f"<body><main id=app></main><div><h1>Title</h1><p>{words(50)}</p></div>"
    assert text_of(html.encode(), "a.html") == f"# Title\n\n{words(50)}\n"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", ""),
        ("plain text", "plain text\n"),
        ("a < b and c > d", "a < b and c > d\n"),
        ("<p>unclosed <b>bold <i>both</p>next", "unclosed bold both\n\nnext\n"),
        ("</p></div>text", "text\n"),
        ("<p>a<!-- comment -->b<!-- no end", "ab\n"),
        ("<p a='>'>x", "x\n"),
        ('<p title="<b>">x', "x\n"),
        ("<pre>\n  a\n    b\n</pre>", "```\n  a\n    b\n```\n"),
        ("<pre>```</pre>", "````\n```\n````\n"),
        ("<h1>C#</h1><p>x", "# C#\n\nx\n"),
        ("<p>caf&eacute; &#233; &unknown;", "café é &unknown;\n"),
        ("<script>if (a</b) {}</script>x", "x\n"),
        ("<code>a`b</code>", "``a`b``\n"),
        ("<ul><li><pre>x</pre></ul>", "```\nx\n```\n"),
        ("<![CDATA[x < y]]>", "x < y\n"),
        ("<p>---</p>", "\\---\n"),
    ],
)
def test_odd_html(html: str, expected: str) -> None:
    assert text_of(html.encode(), "a.html") == expected


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "text",
        "<b a=1><i>" * 50_000 + "<p>text" * 50_000,
        "<table><tr><td>" * 30_000 + "text" + "</td></tr></table>" * 30_000,
        "<ul><li>" * 50_000 + "text",
        "<blockquote>" * 50_000 + "text",
        "<main>text" * 50_000 + "</main>" * 50_000,
        "<code>text" * 30_000 + "</code>" * 30_000,
        "<a " + " ".join(f"x{number}=y" for number in range(100_000)) + ">text</a>",
        "<a =\"'='" * 100_000 + ">text",
        "<!--" * 200_000,
        "text<" * 200_000,
        "text" + "&" * 500_000,
        "<script>" * 100_000,
        "<math>text" * 30_000 + "</math>" * 30_000,
        "<img src='data:" + "x" * 1_000_000 + "'>text",
    ],
    ids=lambda html: html[:12],
)
def test_traps_are_read_in_one_go(html: str) -> None:
    """Each takes a parser that builds a tree minutes, or all memory; here the limit of the whole
    test run would notice."""
    assert len(text_of(html.encode(), "a.html")) < 2_000_000


def test_a_huge_table_is_cut() -> None:
    html = "<table>" + "<tr><td>a<td>b" * 20_000 + "</table>"
    assert text_of(html.encode(), "a.html").count("\n") < 6_000


def test_a_binary_file() -> None:
    with pytest.raises(InputError, match=r"a.html is not an HTML file"):
        converted(b"\0" * 100 + b"<p>text", "a.html")


def test_utf16() -> None:
    assert text_of("\ufeff<p>größe".encode("utf-16-le"), "a.html") == "größe\n"
