"""What a reader sees of Markdown, MDX, HTML and MDN's macros, and what not."""

from __future__ import annotations

import pytest

from bythebook.reading.slugs import Flavor
from reading.reading_tools import check_page, read_text

CODE = "```js\nimport A from 'a';\n<b>{{c}}</b>\n```"


def shown(text: str, flavor: Flavor = "docusaurus") -> str:
    page = read_text(f"{text}\n\nLast paragraph.", flavor=flavor)
    check_page(page)
    return page.text.removesuffix("Last paragraph.").strip()


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import Tabs from '@theme/Tabs';\n\nText.", "Text."),
        ("import {\n  A,\n  B,\n} from 'x'\n\nText.", "Text."),
        ("import 'style.css'\n\nText.", "Text."),
        ("export const a = 'b; c';\n\nText.", "Text."),
        ("export const Box = ({c}) => (\n  <div>\n\n  {c}\n</div>\n);\n\nText.", "Text."),
        ("export const Box = () =>\n  <b>no</b>;\n\nText.", "Text."),
        ("<Box kind='a'>\n\nText.\n\n</Box>", "Text."),
        ("<Box code={`a\n\n>`} {...b}>Text.</Box>", "Text."),
        ("Some {/* secret */} text.", "Some  text."),
        ("{/*\n\n```js\nsecret\n```\n\n*/}\n\nText.", "Text."),
        ("Say {'hello'} and {\"you\"}.", "Say hello and you."),
        ("<>Text.</>", "Text."),
        ("Value {count} stays.", "Value {count} stays."),
        ("```js\nimport A from 'a';\n<b>{{c}}</b>\n```", CODE),
        ("```mdx-code-block\n<Box>\n```\n\nText.\n\n```mdx-code-block\n</Box>\n```", "Text."),
        ("`<b>` and ``a ` <i>``", "`<b>` and ``a ` <i>``"),
        ("`two\nlines <b>` of code", "`two\nlines <b>` of code"),
        ("$a < b > c$ and $$x <y> z$$", "$a < b > c$ and $$x <y> z$$"),
        ("$$\na <b> c\n$$", "$$\na <b> c\n$$"),
        (":::tip[Mind *this*]\n\nText.\n\n:::", ":::tip[Mind *this*]\n\nText.\n\n:::"),
        ("```js\n// highlight-next-line\na: 1,\n```", "```js\na: 1,\n```"),
        ("```yml\n# highlight-start\na\n# highlight-end\nb\n```", "```yml\na\nb\n```"),
        ("```@eval\nsecret()\n```\n\nText.", "Text."),
        ("```@repl\n1 + 1\n```", "```@repl\n1 + 1\n```"),
        ("> [!TIP]\n> Read it.", "> Read it."),
    ],
)
def test_mdx(text: str, expected: str, line_break: str) -> None:
    assert shown(text.replace("\n", line_break)) == expected.replace("\n", line_break)


def test_a_heading_is_shown_without_its_anchor() -> None:
    page = read_text("## Loading a model[[loading-a-model]]\n\nCall it with the name of a model.")
    check_page(page)
    assert page.chunks[0].metadata.heading_path[-1] == "Loading a model"


def test_tab_labels_are_text() -> None:
    text = shown(
        '<Tabs>\n<TabItem value="a" label="On Linux">\n\nUse apt.\n\n</TabItem>\n'
        '<TabItem value="b" label="On macOS">\n\nUse brew.\n\n</TabItem>\n</Tabs>'
    )
    assert text.split() == ["On", "Linux", "Use", "apt.", "On", "macOS", "Use", "brew."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('An {{jsxref("Array")}}.', "An Array."),
        ('{{jsxref("Array/map", "map()")}} it.', "map() it."),
        ("{{domxref('Node', '')}} it.", "Node it."),
        ('Text.\n\n{{InteractiveExample("Demo")}}\n\nMore.', "Text.\n\n\nMore."),
        ("Text.\n\n  {{Compat}}  \n\nMore.", "Text.\n\n\nMore."),
        ("- `a` {{optional_inline}}\n  - : Text.", "- `a` \n  - : Text."),
        ("{{unclosed text", "{{unclosed text"),
    ],
)
def test_mdn_macros(text: str, expected: str) -> None:
    assert shown(text, "mdn") == expected


@pytest.mark.parametrize("flavor", ["plain", "docusaurus"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>Some <b>fat</b> text.</p>", "Some fat text."),
        ("H<sub>2</sub>O", "H2O"),
        ("One<br/>two", "One two"),
        ("Some <!-- secret --> text.", "Some  text."),
        ("<!--\n```js\nsecret\n```\n-->\n\nText.", "Text."),
        ("If a < b and c > d then.", "If a < b and c > d then."),
        ("a <- b, 3 <4, <", "a <- b, 3 <4, <"),
        ("<https://example.org> <me@example.org>", "<https://example.org> <me@example.org>"),
        ("<style>\np { color: red }\n</style>\n\nText.", "Text."),
        ("\\<b> stays", "\\<b> stays"),
        ("<!-- never closed", "<!-- never closed"),
        ("<div never closed", "<div never closed"),
    ],
)
def test_html(text: str, expected: str, flavor: Flavor) -> None:
    assert shown(text, flavor) == expected


def test_cells_of_a_html_table_do_not_run_together() -> None:
    text = (
        "<table>\n<tr><td>one</td><td>two</td></tr>\n<tr><td>three</td><td>four</td></tr>\n</table>"
    )
    assert shown(text).split() == ["one", "two", "three", "four"]


def test_indented_code_is_code_in_markdown_but_not_in_mdx() -> None:
    assert shown("Text:\n\n    <b>code</b>", "plain") == "Text:\n\n    <b>code</b>"
    assert shown("Text:\n\n    <b>fat</b>", "docusaurus").split() == ["Text:", "fat"]


@pytest.mark.parametrize("flavor", ["plain", "docusaurus"])
def test_a_byte_order_mark_is_not_text(flavor: Flavor) -> None:
    page = read_text("\ufeff# Title\n\nSome text here.\n\n## Part\n\nMore.", flavor=flavor)
    check_page(page)
    assert page.head.heading == "Title"
    assert page.text.startswith("# Title")
    page = read_text("\ufeff```js\n<b>code</b>\n```\n\nText.", flavor=flavor)
    assert "<b>code</b>" in page.text


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_every_line_break_gives_the_same_structure(line_break: str) -> None:
    text = "---\ntitle: T\nlayer: L3\n---\n# Head ##\n\nText.\n\n## One\n\n" + "word " * 120
    text += "\n\n```js\n<b>\n\n## no heading\n```\n\nSetext\n---\n\n" + "other " * 120
    page = read_text(text.replace("\n", line_break))
    check_page(page)
    assert [chunk.metadata.section_title for chunk in page.chunks] == ["One", "Setext"]
    assert page.chunks[0].metadata.layer == "L3"
    assert page.head.title == "T"
    assert "<b>" in page.text
