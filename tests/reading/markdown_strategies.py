"""Documents as people write them, and as they break them."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = [
    *["robot", "the", "of", "and", "Gazebo", "simulation", "joint", "state", "publisher", "a"],
    *[
        "größe",
        "naïve",
        "語",
        "機械学習は面白い。",
        "🤖",
        "👩‍🔬",
        "e.g.",
        "3.14",
        "C++",
        "it's",
        "don't",
    ],
    *["`code`", "``a ` b``", "**bold**", "_em_", "[link](https://example.org/a_b)", "![i](x.png)"],
    *["<b>fat</b>", "H<sub>2</sub>O", "<br/>", "<http://example.org>", "a < b", "c > d", "$x^2$"],
    *["{{jsxref('Array')}}", '{{domxref("A", "b")}}', "{{optional_inline}}", "{x}", "{'text'}"],
    *[
        "e.g.",
        "\\<",
        "\\{",
        "&amp;",
        "`",
        "$",
        "<",
        "{",
        "{{",
        "[",
        "|",
        "\u00a0",
        "\u2028",
    ],
    *["x" * 200],
    *["<!-- gone -->", "{/* gone */}", "<Icon name='a' />", "</p>", "import x", "\u3000", "$$"],
]
INFO = ["", "js", "python title='a.py' {1,3-5}", "mdx-code-block", "jsx live", "{.r}", "```x", "\t"]

sentence = st.lists(st.sampled_from(WORDS), min_size=1, max_size=25).map(" ".join)
paragraph = st.lists(sentence, min_size=1, max_size=4).map(lambda parts: ".\n".join(parts) + ".")
long_paragraph = st.integers(60, 900).map(
    lambda count: " ".join(f"word{n}{'.' if n % 9 == 0 else ''}" for n in range(count))
)
long_word = st.sampled_from([9, 5000, 9000, 30000]).map(lambda length: "x" * length)
heading = st.builds(
    lambda level, text, end: f"{'#' * level} {text}{end}",
    st.integers(1, 6),
    sentence,
    st.sampled_from(["", "", " {#own-id}", " {/* #own-id */}", " ##", " <Badge/>"]),
)
setext = sentence.map(lambda text: f"{text}\n====")


def _fence(mark: str, info: str, lines: list[str], closed: bool) -> str:
    return "\n".join([f"{mark}{info}", *lines, *([mark] if closed else [])])


code_lines = st.lists(
    st.sampled_from(["x = 1", "<div>", "# no heading", "", "    if {{a}}:", "import b from 'b'"]),
    max_size=8,
)
fence = st.builds(
    _fence,
    st.sampled_from(["```", "~~~", "````"]),
    st.sampled_from(INFO),
    code_lines,
    st.sampled_from([True] * 7 + [False]),
)
long_fence = st.integers(100, 700).map(
    lambda count: _fence("```", "py", [f"value_{n} = {n}" for n in range(count)], True)
)
indented_code = st.just("    <code>\n    {{macro}}\n\n    more")
table = st.integers(1, 60).map(
    lambda rows: "| name | value |\n|---|--:|\n" + "\n".join(f"| a{n} | `b` |" for n in range(rows))
)
html_table = st.builds(
    lambda cell, rows: "<table>\n" + f"<tr><td>{cell}</td><td>2</td></tr>\n" * rows + "</table>",
    sentence,
    st.integers(1, 30),
)
maths = st.sampled_from(["$$\nE = mc^2\n$$", "$$\nunclosed {", "$a$ and $b < c$"])
statement = st.sampled_from(
    [
        "import Tabs from '@theme/Tabs';",
        "import {\n  a,\n  b,\n} from 'x'",
        "export const a = 'b; c';",
        "export const Box = ({children}) => (\n  <div>\n\n    {children}\n  </div>\n);",
        "export default {\n  broken",
    ]
)
broken = st.sampled_from(
    ["<div", "<!-- never", "{/* never", "<script>x", "<table><tr>", "{{a(", "<a b={", "</", ":::"]
)
definitions = st.just("[one]: https://example.org\n[two]: <b c> 'title'")
leaf = st.one_of(
    *[paragraph, paragraph, long_paragraph, heading, heading, setext, fence, indented_code],
    *[table, html_table, maths, statement, broken, definitions, long_word, long_fence],
)


def _indent(text: str, by: str) -> str:
    return "\n".join(f"{by}{line}" if line.strip() else line for line in text.split("\n"))


def _containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map("\n\n".join)
    items = st.lists(body, min_size=1, max_size=4)
    return st.one_of(
        items.map(lambda parts: "\n".join("- " + _indent(part, "  ")[2:] for part in parts)),
        items.map(lambda parts: "\n\n".join("1. " + _indent(part, "   ")[3:] for part in parts)),
        body.map(lambda text: _indent(text, "> ")),
        body.map(lambda text: f"::::tip[A *title*]\n\n{text}\n\n::::"),
        body.map(lambda text: f":::note\n{text}\n:::"),
        body.map(lambda text: '!!! warning "Careful"\n\n' + _indent(text, "    ")),
        body.map(
            lambda text: (
                f'<Tabs groupId="os">\n<TabItem value="a" label="On Linux">\n\n{text}\n\n'
                "</TabItem>\n</Tabs>"
            )
        ),
        body.map(lambda text: f"<details>\n<summary>More</summary>\n\n{text}\n\n</details>"),
    )


block = st.recursive(leaf, _containers, max_leaves=4)
front_matter = st.sampled_from(
    [
        *["", "", "---\ntitle: A title\nhardware_tier: 2\n---\n", "---\n---\n", "---\n- a\n---\n"],
        *["---\ntitle: [broken\n---\n", "---\nnever: closed\n", "+++\ntitle = 'x'\n+++\n"],
        *[
            "---\nlayer: L9\nchapter: 1e400\nsidebar_position: .nan\n---\n",
            "---\na: !!bool b\n---\n",
        ],
    ]
)
line_break = st.sampled_from(["\n", "\n", "\r\n", "\r"])


@st.composite
def markdown(draw: st.DrawFn) -> str:
    """A file: front matter, blocks, one kind of line break, perhaps a byte order mark."""
    bodies = draw(st.lists(block, max_size=9))
    text = draw(front_matter) + "\n\n".join(bodies) + draw(st.sampled_from(["", "\n", "  \n\n"]))
    mark = draw(st.sampled_from(["", "", "", "\ufeff"]))
    return mark + text.replace("\n", draw(line_break))


# Text without structure, but rich in what a scanner minds.
noise = st.one_of(
    st.text(max_size=300),
    st.text(alphabet="<>{}`$[]()|:-#*!=~'\"\\/ \n\r\tab.", max_size=300),
    st.lists(st.sampled_from([*WORDS, "\n", "\n\n", "# ", "- ", "> ", "```\n", ":::a\n"])).map(
        "".join
    ),
)
