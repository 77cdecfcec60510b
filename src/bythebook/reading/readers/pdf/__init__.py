"""PDF: text with its pages, read column by column, under the headings of its outline."""

from __future__ import annotations

import threading
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from bythebook.errors import InputError
from bythebook.reading.readers import Converted
from bythebook.reading.readers.markdown_writer import MarkdownWriter
from bythebook.reading.readers.pdf.headings import (
    OutlineEntry,
    body_size,
    find_headings,
    find_title,
    still_printed,
)
from bythebook.reading.readers.pdf.listings import without_listings
from bythebook.reading.readers.pdf.paragraphs import Flow, Vocabulary
from bythebook.reading.readers.pdf.rows import Row, in_reading_order, rows_of, without_margins
from bythebook.reading.readers.pdf.text_runs import read_text_runs

MAX_PAGES = 5_000
MAX_OUTLINE = 20_000
# Share of signs without a meaning from which on the text is none.
UNREADABLE = 0.3
# PDFium may be used by one thread at a time.
_one_at_a_time = threading.Lock()


def read(data: bytes, path: str) -> Converted:
    with _one_at_a_time, _opened(data, path) as document:
        pages, heights, without_text = _pages(document, path)
        outline = _outline(document)
        metadata = document.get_metadata_value("Title")
        language = _language(document)
    rows = [row for page in pages for row in page]
    _check_text(rows, without_text, len(pages), path)
    size = body_size(rows)
    pages, left_out = without_listings(without_margins(pages, heights, size))
    rows = [row for page in pages for row in in_reading_order(page)]
    title = find_title(metadata, rows, size)
    writer = MarkdownWriter(path)
    writer.mark("#page=1", 1)
    writer.heading(1, title)
    flow = Flow(writer, Vocabulary(row.text for row in rows), rows)
    flow.write(find_headings(rows, still_printed(outline, rows, left_out), size, title))
    problems = []
    if without_text:
        problems.append(
            f"{_listed(without_text)} of it hold pictures and no text; ocrmypdf can add the text"
        )
    return writer.finish(language=language, problems=problems, chaptered=True)


def _opened(data: bytes, path: str) -> Any:
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as problem:
        if problem.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise InputError(
                f"{path} needs a password to be opened.",
                action="Save a copy without a password: qpdf --decrypt --password=… in.pdf out.pdf",
            ) from problem
        raise InputError(
            f"{path} is damaged or not a PDF file.",
            action="Save it again from its source, or try: qpdf in.pdf repaired.pdf",
        ) from problem


def _pages(document: Any, path: str) -> tuple[list[list[Row]], list[float], list[int]]:
    """Rows and height of each page, and the pages that are only pictures."""
    count = len(document)
    if count > MAX_PAGES:
        raise InputError(
            f"{path} has {count} pages, more than the {MAX_PAGES} that are read.",
            action="Split it.",
        )
    pages: list[list[Row]] = []
    heights: list[float] = []
    without_text: list[int] = []
    for index in range(count):
        try:
            page = document[index]
            textpage = page.get_textpage()
        except pypdfium2.PdfiumError:  # one broken page among others
            without_text.append(index + 1)
            pages.append([])
            heights.append(1.0)
            continue
        rows = rows_of(read_text_runs(textpage), index + 1)
        if not rows and any(
            True for _ in page.get_objects([pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3)
        ):
            without_text.append(index + 1)
        pages.append(rows)
        heights.append(page.get_height())
        textpage.close()
        page.close()
    return pages, heights, without_text


def _outline(document: Any) -> list[OutlineEntry]:
    entries: list[OutlineEntry] = []
    for bookmark in document.get_toc(max_depth=10):
        destination = bookmark.get_dest()
        page = destination.get_index() if destination else None
        title = " ".join(bookmark.get_title().split())
        if page is not None and title:
            _, view = destination.get_view()
            top = view[1] if len(view) > 1 else view[0] if len(view) == 1 else None
            entries.append(OutlineEntry(title, bookmark.level, page + 1, top))
        if len(entries) >= MAX_OUTLINE:
            break
    return entries


def _language(document: Any) -> str | None:
    """What the file says of its language."""
    length = pdfium.FPDFCatalog_GetLanguage(document.raw, None, 0)
    if not 2 < length < 200:
        return None
    buffer = (pdfium.FPDF_WCHAR * (length // 2))()
    pdfium.FPDFCatalog_GetLanguage(document.raw, buffer, length)
    return "".join(map(chr, buffer)).rstrip("\0")


def _check_text(rows: list[Row], without_text: list[int], count: int, path: str) -> None:
    letters = sum(len(row.text) for row in rows)
    odd = sum(c == "\ufffd" or "\ue000" <= c <= "\uf8ff" for row in rows for c in row.text)
    scanned = without_text and letters < 20 * count
    if scanned or letters == 0:
        raise InputError(
            f"{path} holds no text: its {count} pages are pictures, as of a scanner.",
            action="Add the text with OCR: ocrmypdf in.pdf out.pdf",
        )
    if odd > UNREADABLE * letters:
        raise InputError(
            f"{path} does not say which letters its signs stand for.",
            action="Have the text read with OCR: ocrmypdf --force-ocr in.pdf out.pdf",
        )


def _listed(pages: list[int]) -> str:
    shown = ", ".join(map(str, pages[:8]))
    more = f" and {len(pages) - 8} more" if len(pages) > 8 else ""
    return f"page {shown}" if len(pages) == 1 else f"pages {shown}{more}"
