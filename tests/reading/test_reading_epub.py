"""EPUB files: the spine in its order, links into the documents inside; no bomb goes off."""

from __future__ import annotations

import io
import zipfile

import pytest

from bythebook.errors import InputError
from bythebook.reading.readers import zip_archive
from reading.converting import converted, page_of, text_of
from reading.made_files import CONTAINER, epub, zipped
from reading.reading_tools import words


def test_a_novel() -> None:
    made = converted(
        epub(
            {
                "cover.xhtml": "<img src='cover.png'/>",
                "text/c1.xhtml": "<h1>One</h1><p>It was&#160;night.</p><hr/><p>It was day.</p>",
                "text/c2.xhtml": "<p>There is no heading here.</p>",
            },
            title="The Night",
            language="en-US",
            contents={"text/c1.xhtml#top": "One", "text/c2.xhtml": "Chapter Two"},
        ),
        "night.epub",
    )
    assert made.text == (
        "# The Night\n\n## One\n\nIt was night.\n\nIt was day.\n\n"
        "## Chapter Two\n\nThere is no heading here.\n"
    )
    assert made.language == "en"


def test_a_textbook_links_into_its_documents() -> None:
    chapter = f"<h1 id='c'>Joints</h1><p>{words(120)}</p><h2 id='s'>Limits</h2><p>{words(120)}</p>"
    page = page_of(
        epub({"a b.xhtml": chapter, "c2.xhtml": f"<h1>Links</h1><p>{words(120)}</p>"}), "arm.epub"
    )
    assert page.urls == [
        "https://example.org/arm.epub/OEBPS/a%20b.xhtml#c",
        "https://example.org/arm.epub/OEBPS/a%20b.xhtml#s",
        "https://example.org/arm.epub/OEBPS/c2.xhtml",
    ]
    assert [chunk.metadata.chapter_title for chunk in page.chunks] == ["Joints", "Joints", "Links"]
    assert page.chunks[1].metadata.heading_path == ["A Book", "Joints", "Limits"]


def test_the_table_of_contents_of_the_second_version() -> None:
    opf = (
        "<package><metadata><dc:title>Old</dc:title></metadata><manifest>"
        '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
        '<item id="a" href="a.html" media-type="application/xhtml+xml"/>'
        '<item id="p" href="p.png" media-type="image/png"/></manifest>'
        '<spine toc="ncx"><itemref idref="a"/><itemref idref="p"/><itemref idref="x"/></spine>'
        "</package>"
    )
    ncx = (
        "<ncx><navMap><navPoint><navLabel><text>First</text></navLabel>"
        '<content src="a.html#x"/></navPoint></navMap></ncx>'
    )
    container = CONTAINER.replace("OEBPS/", "")
    files = {
        "META-INF/container.xml": container,
        "content.opf": opf,
        "toc.ncx": ncx,
        "a.html": "<body><p>Only text, and no heading.</p></body>",
    }
    assert text_of(zipped(files), "old.epub") == "# Old\n\n## First\n\nOnly text, and no heading.\n"


def test_a_document_that_is_missing() -> None:
    whole = epub({"a.xhtml": "<p>Text of it.</p>", "b.xhtml": "<p>More.</p>"})
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            if not name.endswith("b.xhtml"):
                new.writestr(name, old.read(name))
    found = converted(made.getvalue(), "a.epub")
    assert found.problems == ("1 of its documents are not in it",)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no archive",
        zipped({"a.txt": "x"}),
        zipped({"META-INF/container.xml": "<container/>"}),
        zipped({"META-INF/container.xml": CONTAINER}),
        zipped({"META-INF/container.xml": CONTAINER, "OEBPS/content.opf": "<package/>"}),
    ],
)
def test_what_is_no_book(data: bytes) -> None:
    with pytest.raises(InputError, match=r"a.epub is damaged or not an EPUB file. Save it again"):
        converted(data, "a.epub")


def test_a_protected_book() -> None:
    encryption = (
        "<encryption><enc:EncryptedData><enc:CipherData>"
        '<enc:CipherReference URI="OEBPS/a.xhtml"/>'
        "</enc:CipherData></enc:EncryptedData></encryption>"
    )
    book = epub({"a.xhtml": "<p>x</p>"}, more={"META-INF/encryption.xml": encryption})
    with pytest.raises(InputError, match=r"a.epub is protected against copying"):
        converted(book, "a.epub")


def test_a_zip_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archive, "MAX_FILE", 1_000_000)
    bomb = epub({"a.xhtml": "<p>" + "a" * 5_000_000})
    assert len(bomb) < 20_000
    with pytest.raises(InputError, match=r"a.epub unpacks to more than"):
        converted(bomb, "a.epub")


def test_many_files_that_are_together_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archive, "MAX_TOTAL", 1_000_000)
    bomb = epub({f"{number}.xhtml": "<p>" + "a" * 300_000 for number in range(5)})
    with pytest.raises(InputError, match=r"a.epub unpacks to more than"):
        converted(bomb, "a.epub")


def test_very_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archive, "MAX_ENTRIES", 50)
    with pytest.raises(InputError, match=r"a.epub unpacks to more than 200 MB or 50 files"):
        converted(zipped({f"{number}": "" for number in range(60)}), "a.epub")


def test_entities_are_not_defined_by_a_file() -> None:
    laughs = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
    outside = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
    for head in (laughs, outside):
        book = epub({"a.xhtml": f"{head}<p>here: &a; &b;</p>"})
        assert "here: &a; &b;" in text_of(book, "a.epub")
