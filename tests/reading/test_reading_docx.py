"""DOCX files: styles tell headings, lists and code from text."""

from __future__ import annotations

import pytest

from bythebook.errors import InputError
from reading.converting import converted, page_of, text_of
from reading.made_files import docx, listed, para, zipped
from reading.reading_tools import words

ROW = "<w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>"


def test_a_handout() -> None:
    table = ROW.format(para("Name"), para("Value")) + ROW.format(
        para("a|b"), para("1") + para("and 2")
    )
    body = (
        para("Robot Arms", "Title")
        + para("Joints", "Heading1")
        + para("A vector&lt;int&gt; &amp; more.")
        + listed("one", 1)
        + listed("inner", 1, 1)
        + listed("two", 1)
        + listed("first", 2)
        + listed("second", 2)
        + para("for x in y:", "SourceCode")
        + para("    print(x)", "SourceCode")
        + para("Limits", "berschrift2")
        + f"<w:tbl>{table}</w:tbl>"
        + para("Well said", "IntenseQuote")
    )
    assert text_of(docx(body), "a.docx") == (
        "# Robot Arms\n\n## Joints\n\nA vector<int> & more.\n\n"
        "- one\n   - inner\n- two\n\n1. first\n2. second\n\n"
        "```\nfor x in y:\n    print(x)\n```\n\n### Limits\n\n"
        "| Name | Value |\n| --- | --- |\n| a\\|b | 1 and 2 |\n\n> Well said\n"
    )


def test_a_reviewed_paper() -> None:
    """Deleted words are gone, inserted ones are there; fields show their result."""
    body = (
        "<w:p><w:r><w:t>We </w:t></w:r><w:del><w:r><w:delText>never</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>always</w:t></w:r></w:ins><w:r>"
        "<w:t xml:space='preserve'> measure.</w:t><w:br/><w:t>Page </w:t></w:r>"
        "<w:r><w:instrText>PAGEREF x</w:instrText></w:r>"
        "<w:r><w:t>7</w:t><w:tab/><w:t>end</w:t></w:r></w:p>"
    )
    assert text_of(docx(body), "a.docx") == "We always measure.\nPage 7 end\n"


def test_a_manual_without_styles_for_code() -> None:
    font = '<w:rPr><w:rFonts w:ascii="Courier New"/></w:rPr>'
    body = (
        para("Setup", more='<w:outlineLvl w:val="0"/>')
        + f"<w:p><w:r>{font}<w:t>pip install x</w:t></w:r></w:p>"
        + f"<w:p><w:r><w:t>Then run </w:t></w:r><w:r>{font}<w:t>x</w:t></w:r></w:p>"
    )
    core = "<cp:coreProperties><dc:title>A Manual</dc:title><dc:language>de-DE</dc:language>"
    files = {"docProps/core.xml": core}
    made = converted(docx(body, **files), "a.docx")
    assert made.text == "# A Manual\n\n# Setup\n\n```\npip install x\n```\n\nThen run x\n"
    assert made.language == "de"


def test_text_boxes_are_read_once() -> None:
    box = f"<w:txbxContent>{para('In the box')}</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>Before </w:t><mc:AlternateContent><mc:Choice><w:drawing>"
        f"{box}</w:drawing></mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r><w:r><w:t>after</w:t></w:r></w:p>"
    )
    assert text_of(docx(body), "a.docx") == "In the box\n\nBefore after\n"


def test_passages_link_to_the_headings() -> None:
    body = para("T", "Title") + "".join(
        para(name, "Heading1") + para(words(120)) for name in ("First part", "Second part")
    )
    page = page_of(docx(body), "a.docx")
    assert page.urls == [
        "https://example.org/a.docx#first-part",
        "https://example.org/a.docx#second-part",
    ]


def test_tables_in_tables() -> None:
    inner = f"<w:tbl>{ROW.format(para('x'), para('y'))}</w:tbl>"
    outer = f"<w:tbl>{ROW.format(para('a'), inner)}</w:tbl>"
    assert text_of(docx(outer), "a.docx") == "| a | x, y |\n| --- | --- |\n"
    deep = "<w:tbl><w:tr><w:tc>" * 20_000 + para("deep")
    assert "deep" in text_of(docx(deep), "a.docx")


@pytest.mark.parametrize("data", [b"", b"PK", zipped({"a": "b"}), zipped({"word/a.xml": ""})])
def test_what_is_no_document(data: bytes) -> None:
    with pytest.raises(InputError, match=r"a.docx is damaged or not a DOCX file"):
        converted(data, "a.docx")
