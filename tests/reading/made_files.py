"""Files of every format, made on the spot."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from fpdf import FPDF
from fpdf.enums import AccessPermission

CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OEBPS/content.opf" '
    'media-type="application/oebps-package+xml"/></rootfiles></container>'
)


class Printed(FPDF):
    """A PDF with a running head and page numbers, if it is given a head."""

    def __init__(self, head: str = "", title: str = "", language: str = "") -> None:
        super().__init__()
        self.head = head
        self.set_creation_date(datetime(2024, 1, 1, tzinfo=UTC))
        if title:
            self.set_title(title)
        if language:
            self.set_lang(language)

    def header(self) -> None:
        if self.head:
            self.set_font("Helvetica", size=9)
            self.cell(0, 6, self.head, align="R")
            self.ln(14)

    def footer(self) -> None:
        if self.head:
            self.set_y(-15)
            self.set_font("Helvetica", size=9)
            self.cell(0, 6, f"Page {self.page_no()} of 30", align="C")

    def heading(self, text: str, size: int = 18, outline: int | None = None) -> None:
        if outline is not None:
            self.start_section(text, level=outline)
        self.set_font("Helvetica", "B", size)
        self.multi_cell(0, size * 0.55, text, new_x="LMARGIN", new_y="NEXT", align="L")
        self.ln(2)

    def text_block(self, text: str, align: str = "J") -> None:
        self.set_font("Times", size=11)
        self.multi_cell(0, 5.5, text, new_x="LMARGIN", new_y="NEXT", align=align)
        self.ln(3)

    def lines(self, x: float, y: float, lines: Sequence[str], step: float = 5) -> None:
        """Lines where a test wants them, in millimetres from the top left corner."""
        self.set_font("Times", size=11)
        for number, line in enumerate(lines):
            self.text(x, y + number * step, line)

    def code(self, text: str) -> None:
        self.set_font("Courier", size=10)
        self.multi_cell(0, 5, text, new_x="LMARGIN", new_y="NEXT", align="L")
        self.ln(3)

    def grid(self, rows: Iterable[Sequence[str]]) -> None:
        self.set_font("Times", size=11)
        with self.table() as table:
            for cells in rows:
                row = table.row()
                for cell in cells:
                    row.cell(cell)
        self.ln(4)

    def data(self, password: str = "") -> bytes:
        if password:
            self.set_encryption(
                owner_password="owner", user_password=password, permissions=AccessPermission.none()
            )
        return bytes(self.output())


def epub(
    documents: dict[str, str],
    *,
    title: str = "A Book",
    language: str = "en",
    contents: dict[str, str] | None = None,
    more: dict[str, str] | None = None,
) -> bytes:
    """An EPUB 3 file; `documents` are the bodies of its spine, `contents` target to title."""
    items = "".join(
        f'<item id="d{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(documents)
    )
    references = "".join(f'<itemref idref="d{number}"/>' for number in range(len(documents)))
    links = "".join(
        f'<li><a href="{target}">{name}</a></li>' for target, name in (contents or {}).items()
    )
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:language>{language}</dc:language></metadata>"
        '<manifest><item id="nav" href="nav.xhtml" properties="nav" '
        f'media-type="application/xhtml+xml"/>{items}</manifest><spine>{references}</spine>'
        "</package>"
    )
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/content.opf": package,
        "OEBPS/nav.xhtml": f"<html><body><nav><ol>{links}</ol></nav></body></html>",
        **{
            f"OEBPS/{name}": f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">'
            f"<head><title/></head><body>{body}</body></html>"
            for name, body in documents.items()
        },
        **(more or {}),
    }
    return zipped(files)


def zipped(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def docx(body: str, **files: str) -> bytes:
    """A DOCX file with the usual styles; `files` are further parts by their name."""
    names = {
        "Title": "Title",
        "Heading1": "heading 1",
        "berschrift2": "heading 2",
        "SourceCode": "Source Code",
        "IntenseQuote": "Intense Quote",
    }
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in names.items()
    )
    numbering = (
        '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
        '<w:abstractNum w:abstractNumId="2"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>'
        '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="2"/></w:num>'
    )
    return zipped(
        {
            "word/document.xml": f"<w:document><w:body>{body}</w:body></w:document>",
            "word/styles.xml": f"<w:styles>{styles}</w:styles>",
            "word/numbering.xml": f"<w:numbering>{numbering}</w:numbering>",
            **files,
        }
    )


def para(text: str, style: str = "", more: str = "") -> str:
    """A paragraph of a DOCX file."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    run = f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'
    return f"<w:p><w:pPr>{named}{more}</w:pPr>{run}</w:p>"


def listed(text: str, list_id: int, level: int = 0) -> str:
    return para(
        text,
        more=f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>',
    )


def notebook(*cells: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, **more}).encode()


def markdown_cell(*lines: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": list(lines)}


def code_cell(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": list(outputs)}
