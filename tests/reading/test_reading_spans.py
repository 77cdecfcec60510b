"""Tables whose cells span rows or columns: every row reads alone, whatever the format."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bythebook.reading.readers.table_cells import MAX_COLUMNS, Cell, filled
from reading.converting import text_of
from reading.made_files import docx, para

PORTS = """\
| Name | Ports | Ports |
| --- | --- | --- |
| web | 80 | 443 |
| web | 8080 | 8443 |
| Old ones |  |  |
| ftp | 21 | - |
"""


def test_of_a_web_page() -> None:
    html = (
        "<h1>Ports</h1><table><tr><th>Name<th colspan=2>Ports"
        "<tr><td ROWSPAN='2'>web<td>80<td>443<tr><td>8080<td>8443"
        "<tr><td colspan=3>Old ones<tr><td>ftp<td>21<td>-</table>"
    )
    assert PORTS in text_of(html.encode(), "a.html")


def test_of_restructuredtext() -> None:
    source = """\
Ports
=====

+------+------+------+
| Name | Ports       |
+======+======+======+
| web  | 80   | 443  |
|      +------+------+
|      | 8080 | 8443 |
+------+------+------+
| Old ones           |
+------+------+------+
| ftp  | 21   | \\-   |
+------+------+------+
"""
    assert PORTS in text_of(source.encode(), "a.rst")


def test_of_a_word_file() -> None:
    def row(*cells: str) -> str:
        return f"<w:tr>{''.join(cells)}</w:tr>"

    def cell(text: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{para(text)}</w:tc>"

    table = (
        row(cell("Name"), cell("Ports", '<w:gridSpan w:val="2"/>'))
        + row(cell("web", '<w:vMerge w:val="restart"/>'), cell("80"), cell("443"))
        + row(cell("", "<w:vMerge/>"), cell("8080"), cell("8443"))
        + row(cell("Old ones", '<w:gridSpan w:val="3"/>'))
        + row(cell("ftp"), cell("21"), cell("-"))
    )
    assert PORTS in text_of(docx(f"<w:tbl>{table}</w:tbl>"), "a.docx")


def test_of_spans_wider_than_the_table() -> None:
    html = (
        "<table><tr><th colspan=0>Name<th>Port<tr><td>web<td>80"
        "<tr><td colspan=100>Old ones<tr><td>ftp<td>21</table>"
    )
    rows = ["| Name | Port |", "| web | 80 |", "| Old ones |  |", "| ftp | 21 |"]
    said = text_of(html.encode(), "a.html").splitlines()
    assert [line for line in said if line.startswith("|") and "---" not in line] == rows


def test_a_long_text_is_no_heading_of_every_column() -> None:
    long = "A paragraph. " * 20
    html = f"<table><tr><td colspan=99>{long}<td>last<tr><td>a<td>b</table>"
    said = text_of(html.encode(), "a.html")
    assert said.count("A paragraph.") == 20 and "last" in said


def test_huge_spans_stay_small() -> None:
    html = (
        "<table><tr><td rowspan=99999 colspan=99999>"
        + "long " * 1000
        + "<td>b"
        + "<tr><td>c" * 4000
        + "</table>"
    )
    assert len(text_of(html.encode(), "a.html")) < 2_000_000


texts = st.text("abc", max_size=3)
cells = st.builds(Cell, texts, st.integers(1, 4)) | st.builds(
    Cell, texts, columns=st.integers(1, 70)
)


@given(st.lists(st.lists(cells, max_size=10), max_size=6))
def test_no_cell_is_lost_and_rows_stay_narrow(rows: list[list[Cell]]) -> None:
    found = filled(rows)
    assert len(found) == len(rows)
    assert all(len(line) <= MAX_COLUMNS for line in found)
    for row, line in zip(rows, found, strict=True):
        left = iter(line)
        assert all(cell.text in left for cell in row)
