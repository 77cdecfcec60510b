"""What a book says is shown, and whatever it says, nothing of it is executed."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.models.answer import CitationEntry
from bythebook.server.rendering import answer_html, passage_html, sanitised, unfinished_html
from server.html_seen import Seen

PAGE = "https://book.example/docs/part/page#top"
ALIGNED = {"class": r"align-(left|center|right)"}
# Written out here once more: the list in the code is what is tested.
ALLOWED: dict[str, dict[str, str]] = {
    "a": {
        "href": r"(https?|mailto):[^\s]*",
        "target": "_blank",
        "rel": "noopener noreferrer nofollow",
    },
    "button": {
        "type": "button",
        "class": "cite",
        "data-n": r"\d{1,3}",
        "aria-label": r"Source \d+.*",
    },
    "code": {"class": r"language-[^\s\"'<>]+"},
    "div": {
        "class": "table|math|admonition",
        "tabindex": "0",
        "role": "region",
        "aria-label": "Table",
    },
    "ol": {"start": r"\d+"},
    "p": {"class": "admonition-title"},
    "span": {"class": "math"},
    "td": ALIGNED,
    "th": ALIGNED,
    **{
        tag: {}
        for tag in "blockquote br del em h3 h4 h5 h6 hr li mark pre strong table tbody thead tr "
        "ul".split()
    },
}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<svg/onload="alert(1)">',
    "<iframe srcdoc='<script>alert(1)</script>'>",
    '<button type="button" class="cite" data-n="1">1</button>',
    "<mark>forged</mark>",
    "</mark></p></div><style>*{display:none}</style>",
    "<!-- --!> <script>alert(1)</script> -->",
    "<![CDATA[<script>]]>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt&colon;alert(1))",
    "[click](<java\nscript:alert(1)>)",
    "[click](\x01javascript:alert(1))",
    "[click](&#x6A;avascript:alert(1))",
    "[click](vbscript:x) [click](file:///etc/passwd)",
    "[click](data:text/html,<script>alert(1)</script>)",
    "![x](data:image/svg+xml,<svg/onload=alert(1)>)",
    "![x](data:image/png;base64,AAAA)",
    '!["onerror=alert(1)](http://e.example/a.png)',
    '[x](http://e.example/"onmouseover="alert(1))',
    "<javascript:alert(1)>",
    "[r][1]\n\n[1]: javascript:alert(1)\n",
    "[1]: http://evil.example '\"><script>alert(1)</script>'\n",
    "[1](http://evil.example)",
    '```"><script>alert(1)</script>\n[1]\n```\n',
    "`<script>[1]</script>`",
    "$<script>alert(1)</script>$",
    "$$\n</div><script>alert(1)</script>\n$$\n",
    ":::note[<script>alert(1)</script>]\nx\n:::\n",
    '!!! "><script> "<img onerror=alert(1)>"\n    x\n',
    "| <script> | [1] |\n|---|:-:|\n| `a\\|b` | <img onerror=x> |\n",
    '# <script> {#"onload=alert(1)}\n',
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62;",
    "\ufdd01\ufdd1",
    "\x00\ud800\r\n",
]
PIECES = [
    *HOSTILE,
    "word",
    " ",
    "  \n",
    "\n",
    "\n\n",
    "**",
    "_",
    "~~",
    "`",
    "```\n",
    "> ",
    "- ",
    "  - ",
    "1. ",
    "    ",
    "\t",
    "| a | b |\n|---|---|\n| c\\|d | e |\n",
    "## Title\n",
    "[",
    "]",
    "(",
    ")",
    "![",
    "](http://e.example)",
    "<https://e.example>",
    "\\",
    "\\*",
    "&amp;",
    "$",
    "$$",
    "[1]",
    "[2]",
    "!!! note\n",
    ":::tip\n",
    "é漢🙂",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30).map("".join)


def citation(number: int, section: str | None = "Links", url: str = PAGE) -> CitationEntry:
    return CitationEntry(
        id=str(uuid.uuid4()),
        source_file_path="page.md",
        source_url=url,
        chapter="Robot Models",
        text_preview="quoted",
        confidence_score=0.9,
        number=number,
        section=section,
        quote="quoted",
        start=0,
        end=6,
        stretches=[(0, 6)],
        source_spans=[(0, 6)],
        passage_id=str(uuid.uuid4()),
    )


CITED = [citation(1), citation(2, None)]


def answered(text: str) -> str:
    return answer_html(text, CITED)


def check_harmless(html: str, *, may_cite: bool) -> Seen:
    seen = Seen(html)
    for tag, attributes in seen.elements:
        assert tag in ALLOWED, f"<{tag}>"
        assert tag != "button" or may_cite
        for name, value in attributes.items():
            assert name in ALLOWED[tag], f"<{tag} {name}>"
            assert re.fullmatch(ALLOWED[tag][name], value or "", re.S), f"<{tag} {name}={value}>"
        if tag == "a":
            # An address that is none is left out, and the link leads nowhere.
            assert set(attributes) | {"href"} == {"href", "target", "rel"}
    return seen


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    ("render", "may_cite"), [(passage_html, False), (answered, True)], ids=["passage", "answer"]
)
def test_nothing_hostile_is_live(text: str, render: Callable[[str], str], may_cite: bool) -> None:
    for whole in (text, f"Before {text} after.", f"- {text}", f"> {text}", f"| a |\n|-|\n| {text}"):
        seen = check_harmless(render(whole), may_cite=may_cite)
        assert "mark" not in seen.tags
        assert not [link for link in seen.links if link and "script" in link[:15].lower()]


@given(TEXTS, st.lists(st.tuples(st.integers(-5, 300), st.integers(-5, 300)), max_size=4))
def test_whatever_a_passage_holds_is_harmless(text: str, stretches: list[tuple[int, int]]) -> None:
    check_harmless(passage_html(text, stretches, PAGE), may_cite=False)


@given(TEXTS)
def test_whatever_an_answer_holds_is_harmless(text: str) -> None:
    seen = check_harmless(answered(text), may_cite=True)
    assert set(seen.cites) <= {"1", "2"}
    check_harmless(unfinished_html(text, 2), may_cite=True)


@given(TEXTS)
def test_the_second_line_of_defence_stands_alone(text: str) -> None:
    """Even if the parser let HTML through."""
    check_harmless(sanitised(text.replace("\ud800", "")), may_cite=False)


def test_html_in_a_book_is_shown_as_its_text() -> None:
    seen = Seen(passage_html("Write <script>alert(1)</script> &lt;b&gt; &amp;amp; here."))
    assert seen.text.strip() == "Write <script>alert(1)</script> <b> &amp; here."


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


@given(TEXTS)
def test_all_of_a_passage_marked_is_all_its_text(text: str) -> None:
    """Only what bythebook adds is not the book's: names of admonitions, of pictures without one."""
    text = re.sub(r":::|!!!|!\[\]|Image", "", text)
    seen = Seen(passage_html(text, [(0, len(text))]))
    assert squeezed(seen.marked) == squeezed(seen.text).replace("Image", "")


@given(TEXTS, st.integers(0, 200), st.integers(0, 200))
def test_marks_change_nothing_but_what_is_marked(text: str, start: int, end: int) -> None:
    marked = passage_html(text, [(start, end)])
    assert re.sub(r"</?mark>", "", marked) == passage_html(text)


WORDS = st.lists(st.from_regex(r"[a-zé漢]{1,6}", fullmatch=True), min_size=3, max_size=12)


@given(WORDS, st.data())
def test_a_stretch_of_prose_is_marked_to_the_letter(words: list[str], data: st.DataObject) -> None:
    """Whatever stands around it, and in whatever the prose stands."""
    lead, between, tail = data.draw(
        st.sampled_from(
            [
                ("", " ", ""),
                ("", "\n", ""),
                ("", "\r\n", "\r\n\r\nmore"),
                ("Before `x` \n", " ", "\n\nafter"),
                ("## ", " ", " {#name}\n\nafter"),
                ("> - ", " ", "\n"),
                ("> ", "\n> ", "\n\nafter"),
                ("1. a\n   - ", "\n     ", "\n2. b"),
                ("```python\nx = [1]\n", "\n", "\n```\n"),
                ("    code\n\n    ", "\n    ", "\n"),
                ("- a\n\n      ", "\n      ", "\n"),
                ("| a | b |\n|---|---|\n| x\\|y ", " ", " | z |"),
                ("| a\\|a | a |\n|---|---|\n| a | a\\| ", " ", " |"),
                ("A [link](<a b c>) &amp; \\* ", " ", " ![x](y) end"),
                ("$$\n", "\n", "\n$$\n"),
                ("$$", " ", "$$"),
                ("**bold** ~~", " ", "~~ _x_"),
                ("[", " ", "](https://e.example)"),
                ("![", " ", "](https://e.example/a.png)"),
                ("`` ", "\n", " ``"),
                (":::note\n", " ", "\n:::\n"),
            ]
        )
    )
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    start = len(lead) + sum(len(word) + len(between) for word in words[:first])
    text = lead + between.join(words) + tail
    quoted = between.join(words[first : last + 1])
    html = passage_html(text, [(start, start + len(quoted))])
    assert Seen(html).marked.split() == words[first : last + 1], html


def test_a_stretch_over_several_elements_gives_several_marks() -> None:
    text = "Use **URDF** for a `robot`, not *SDF*.\n\nNext."
    start, end = text.index("**"), text.index(", not")
    seen = Seen(passage_html(text, [(start, end), (text.index("Next"), len(text))]))
    assert seen.marks == ["URDF", " for a ", "robot", "Next."]


def test_stretches_outside_of_the_text_mark_nothing() -> None:
    assert "<mark>" not in passage_html("Some text.", [(50, 60), (5, 5), (7, 3), (-9, 0)])
    assert Seen(passage_html("Some text.", [(5, 999)])).marks == ["text."]


def test_markers_become_buttons() -> None:
    html = answered("A **link** is a part [1][2]. Another [2].")
    assert Seen(html).cites == ["1", "2", "2"]
    assert (
        '<button type="button" class="cite" data-n="1" aria-label="Source 1: Links">1</button>'
        '<button type="button" class="cite" data-n="2" aria-label="Source 2: Robot Models">2'
    ) in html


@pytest.mark.parametrize(
    "text",
    [
        "There is no third source [3], and none here [0].",
        "`x[1]` is code",
        "```\nx[1]\n```",
        "~~~python\nx[2] = y[1]\n~~~",
        "    indented[1]",
        "\\[1\\]",
    ],
)
def test_what_is_no_marker_stays_text(text: str) -> None:
    seen = Seen(answered(text))
    assert not seen.cites
    assert re.search(r"\[\d\]", seen.text)


def test_a_marker_below_code_and_tables_is_one() -> None:
    seen = Seen(answered("```\nx[1]\n```\n[1]\n\n| a |\n|---|\n| b |\n\n[2]"))
    assert seen.cites == ["1", "2"] and seen.texts["code"] == ["x[1]\n"]


def test_a_section_title_can_not_leave_its_label() -> None:
    html = answer_html("x [1]", [citation(1, '"><script>alert(1)</script>')])
    (button,) = [attributes for tag, attributes in Seen(html).elements if tag == "button"]
    assert button["aria-label"] == 'Source 1: "><script>alert(1)</script>'
    assert "script" not in Seen(html).tags


def test_a_marker_wins_over_a_link_definition() -> None:
    seen = Seen(answered("Quoted [1].\n\n[1]: https://evil.example\n"))
    assert seen.cites == ["1"] and not seen.links


def test_while_it_is_written_markers_have_no_titles_yet() -> None:
    html = unfinished_html("Quoted [1]. And [3].", 2)
    assert Seen(html).cites == ["1"] and 'aria-label="Source 1"' in html


@pytest.mark.parametrize(
    ("written", "leads_to"),
    [
        ("https://e.example/a?b=c&d", "https://e.example/a?b=c&d"),
        ("mailto:a@e.example", "mailto:a@e.example"),
        ("../other#x", "https://book.example/docs/other#x"),
        ("#below", "https://book.example/docs/part/page#below"),
        ("/root", "https://book.example/root"),
        ("//e.example/x", "https://e.example/x"),
        ("other.md#x", None),
        ("ftp://e.example", None),
    ],
)
def test_where_links_lead(written: str, leads_to: str | None) -> None:
    expected = [leads_to] if leads_to else []
    assert Seen(passage_html(f"[text]({written})", page=PAGE)).links == expected
    assert Seen(answered(f"[text]({written}) [1].")).links == expected
    assert "text" in Seen(passage_html(f"[text]({written})", page=PAGE)).text


def test_without_a_published_page_a_relative_link_is_its_text() -> None:
    seen = Seen(passage_html("See [the next](../next) page."))
    assert not seen.links and seen.text.strip() == "See the next page."


def test_a_link_of_an_answer_is_meant_from_the_page_it_is_quoted_from() -> None:
    cited = [citation(1, url="https://a.example/x/"), citation(2, url="https://b.example/y/")]
    html = answer_html("See [one](p) [1]. See [two](p) [2].", cited)
    assert Seen(html).links == ["https://a.example/x/p", "https://b.example/y/p"]


def test_pictures_are_links_that_load_nothing() -> None:
    seen = Seen(passage_html("![A *robot*](https://e.example/r.png) and ![](/x.png)", page=PAGE))
    assert seen.links == ["https://e.example/r.png", "https://book.example/x.png"]
    assert seen.texts["a"] == ["A robot", "Image"]
    nested = Seen(passage_html("[![badge](https://e.example/b.svg)](https://e.example)"))
    assert nested.links == ["https://e.example"] and nested.texts["a"] == ["badge"]
    beside = Seen(passage_html("![A robot](./r.png) ![x](data:image/png;base64,AA)", page=PAGE))
    assert not beside.links and beside.text.strip() == "A robot x"


def test_tables_can_be_reached_and_scrolled() -> None:
    html = passage_html("| a | b |\n|---|--:|\n| `c\\|d` | **e** |")
    assert '<div class="table" tabindex="0" role="region" aria-label="Table"><table>' in html
    assert '<td class="align-right"><strong>e</strong></td>' in html
    assert Seen(html).texts["code"] == ["c|d"]


def test_code_keeps_its_text_and_language() -> None:
    html = passage_html("- item\n\n  ```c++ title=x\n  if (a < b)\n\n    [1];\n  ```\n")
    assert '<pre><code class="language-c++">' in html
    assert Seen(html).texts["code"] == ["if (a < b)\n\n  [1];\n"]


def test_maths_is_its_source_and_money_is_money() -> None:
    html = passage_html(r"With $a_1 < b$ it costs $5 or $6." + "\n\n$$\n\\frac{a}{b}\n$$\n")
    assert '<span class="math">a_1 &lt; b</span>' in html
    assert "costs $5 or $6." in html
    assert '<div class="math">\\frac{a}{b}</div>' in html


def test_lists_nest_and_go_on_counting() -> None:
    html = passage_html("3. a\n   - b\n     - c\n4. d")
    assert '<ol start="3">' in html and Seen(html).tags.count("ul") == 2


def test_headings_stay_below_those_of_a_page() -> None:
    html = passage_html("# One {#one}\n\n## Two\n\n###### Six")
    assert Seen(html).tags == ["h3", "h4", "h6"] and "{" not in html


def test_admonitions() -> None:
    for text in (
        ":::note[Mind]\nthis\n:::",
        ":::note Mind\nthis\n:::",
        '!!! note "Mind"\n    this',
    ):
        seen = Seen(passage_html(text))
        assert seen.elements[0] == ("div", {"class": "admonition"})
        assert seen.texts["p"] == ["Mind", "this"]
    assert Seen(passage_html(":::tip\nthis\n:::")).texts["p"] == ["Tip", "this"]
    titled = ":::note[Mind it]\nthis\n:::"
    assert Seen(passage_html(titled, [(0, len(titled))])).marks == ["Mind it", "this"]
