"""Books of files that are not Markdown: found, laid out, indexed and cited with their pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.agent.assistant import Assistant
from bythebook.errors import InputError
from bythebook.library import Library
from bythebook.models.answer import CitationEntry
from bythebook.reading import readers
from bythebook.reading.layout import find_book
from bythebook.reading.readers import convert
from bythebook.reading.source import read_bytes
from invariants import check_invariants
from reading.made_files import Printed, docx, epub, para
from reading.reading_tools import write_files

TEXT = "Some text that is long enough to be a page of a book.\n"
# Six chapters of five pages; the third page of each says what only that chapter says.
FACTS = {
    "harmonic drive": (
        "A harmonic drive has a flexible cup that a wave generator bends. The cup has two teeth "
        "fewer than the ring around it, and so it turns slowly and with great force."
    ),
    "torque sensor": (
        "A torque sensor measures the twist of a shaft with strain gauges. The gauges change their "
        "resistance when the shaft is twisted, and the controller reads them every millisecond."
    ),
    "end effector": (
        "An end effector is the tool at the tip of the arm. Welding torches, suction cups and "
        "screwdrivers are end effectors, and each one is bolted to the same round flange."
    ),
    "singularity": (
        "At a singularity the arm loses one direction in which it can move. This happens when two "
        "axes of the wrist lie on one line, and the joints would have to turn endlessly fast."
    ),
    "encoder": (
        "An absolute encoder knows the angle of the joint right after power-on. An incremental "
        "encoder counts steps only, so that the arm has to find its zero mark first."
    ),
    "gripper": (
        "A parallel gripper closes two fingers with a single pneumatic cylinder. Its force is set "
        "by the pressure of the air, and a spring holds the part when the air fails."
    ),
}
FILLER = (
    "Every machine in this workshop is cleaned on Friday, and whoever used it last writes the hour "
    "into the log that hangs beside the door. "
)


def textbook() -> bytes:
    pdf = Printed(head="Robot Arms - Workshop Edition", title="Robot Arms", language="en")
    topics = list(FACTS.items())
    for number in range(1, 31):
        pdf.add_page()
        if number % 5 == 1:
            topic, fact = topics[number // 5]
            pdf.heading(f"Chapter {number // 5 + 1}: The {topic}", outline=0)
        if number % 5 == 3:  # on the third page of its chapter
            pdf.heading(f"What the {topic} does", 14, outline=1)
            pdf.text_block(fact)
            continue
        pdf.text_block(FILLER * 12)
    return pdf.data()


async def test_a_pdf_textbook_answers_with_the_right_page(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "robot-arms.pdf"
    file.write_bytes(textbook())
    job = await library.ingest(file)
    assert job.warnings == []
    assert (job.book_id, job.files_processed) == ("robot-arms", 1)
    chunks = await check_invariants(library, "robot-arms")
    assert all(chunk.metadata.page in range(1, 31) for chunk in chunks)
    questions = {
        "What does a torque sensor measure?": ("torque sensor", 8),
        "What happens to the arm at a singularity?": ("singularity", 18),
        "What is an end effector?": ("end effector", 13),
    }
    async with Assistant(library) as assistant:
        for question, (topic, page) in questions.items():
            answer = await assistant.ask(question)
            assert not answer.refused, question
            cited = [CitationEntry.of(citation) for citation in answer.citations]
            entry = next(entry for entry in cited if FACTS[topic].split(".")[0] in entry.quote)
            assert entry.page_number == page
            assert entry.source_url == f"/robot-arms.pdf#page={page}"
            assert entry.chapter == f"Chapter {page // 5 + 1}: The {topic}"
            assert entry.source_file_path == "robot-arms.pdf"
    again = await library.ingest(file)
    assert (again.files_processed, again.chunks_embedded) == (0, 0)


async def test_a_folder_of_every_kind(library: Library, tmp_path: Path) -> None:
    pdf = Printed(title="Printed")
    pdf.add_page()
    pdf.text_block(FILLER * 3)
    folder = write_files(tmp_path / "mixed", {"a.md": f"# A\n\n{FILLER}", "b.html": f"<p>{FILLER}"})
    (folder / "c.pdf").write_bytes(pdf.data())
    (folder / "d.epub").write_bytes(epub({"x.xhtml": f"<h1>X</h1><p>{FILLER}</p>"}))
    (folder / "e.docx").write_bytes(docx(para(FILLER)))
    (folder / "f.rst").write_text(FILLER)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (folder / "broken.epub").write_bytes(b"PK broken")
    job = await library.ingest(folder)
    assert (job.files_processed, job.files_failed) == (6, 2)
    assert sorted(warning.split()[0] for warning in job.warnings) == ["broken.epub", "broken.pdf"]
    assert all("It was skipped." in warning for warning in job.warnings)
    chunks = await check_invariants(library, "mixed")
    pages = {chunk.metadata.source_file: chunk.metadata.page for chunk in chunks}
    assert pages == {
        "a.md": None, "b.html": None, "c.pdf": 1, "d.epub": None, "e.docx": None, "f.rst": None,
    }  # fmt: skip


def test_a_file_is_a_book(tmp_path: Path) -> None:
    write_files(tmp_path, {"02-My Notes.html": TEXT, "other.md": TEXT})
    book = find_book(tmp_path / "02-My Notes.html")
    assert (book.book_id, book.title) == ("02-my-notes", "My Notes")
    assert (book.files, book.root) == (("02-My Notes.html",), tmp_path)


def test_tools_that_make_pages_of_markdown_make_them_of_nothing_else(tmp_path: Path) -> None:
    site = {"mkdocs.yml": "", "docs/a.md": TEXT, "docs/theme.html": TEXT}
    assert find_book(write_files(tmp_path / "site", site)).files == ("a.md",)
    write_files(tmp_path / "plain", {"a.md": TEXT, "b.html": TEXT, "notes.txt": TEXT})
    assert find_book(tmp_path / "plain").files == ("a.md", "b.html")


def test_pictures_may_make_a_file_larger(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.pdf": "x" * 9_000, "b.html": "x" * 9_000, "c.pdf": "x" * 11_000})
    assert len(read_bytes(tmp_path, "a.pdf", 1_000)) == 9_000
    for file in ("b.html", "c.pdf"):
        with pytest.raises(InputError, match=f"{file} has"):
            read_bytes(tmp_path, file, 1_000)


def test_a_file_is_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_kept", {})
    first = convert("a.html", b"<p>one", "1" * 64)
    assert convert("b.html", b"not looked at", "1" * 64) is first
    monkeypatch.setattr(readers, "KEPT_CHARACTERS", 5)
    convert("a.html", b"<p>two", "2" * 64)
    assert convert("a.html", b"<p>three", "1" * 64).text == "three\n"


def test_a_fault_of_a_reader_is_a_fault_of_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumbling(_data: bytes, _path: str) -> None:
        raise ZeroDivisionError("of the reader")

    monkeypatch.setattr("bythebook.reading.readers.notebook.read", stumbling)
    with pytest.raises(InputError, match=r"a.ipynb can't be read as IPYNB \(ZeroDivisionError\)"):
        convert("a.ipynb", b"{}", "3" * 64)
