"""PDF files: what is printed for the eye becomes text again, with its pages."""

from __future__ import annotations

import pytest

from bythebook.errors import InputError
from bythebook.reading.readers.pdf.paragraphs import table_at
from bythebook.reading.readers.pdf.rows import Row
from bythebook.reading.readers.pdf.text_runs import TextRun
from reading.converting import converted, page_of, text_of
from reading.made_files import Printed

LEFT = [
    "The left column begins here and is",
    "filled with text that goes to the",
    "edge of it, and it has a broken exam-",
    "ple in it that must be joined. The",
    "word example is known elsewhere, and",
    "a well-known thing keeps its hyphen.",
]
RIGHT = [
    "The right column follows when the",
    "left one is at its end, and never",
    "between its lines. It has a well-",
    "known hyphen too, which must stay,",
    "and last it says that this is all",
    "there is to say in this document.",
]
LOREM = "The arm moves along the planned path while the controller compares both positions. "


def test_two_columns_below_a_line_across_both() -> None:
    pdf = Printed()
    pdf.add_page()
    across = "This line goes across both of the columns below, and it is read before either of them"
    pdf.lines(20, 30, [across])
    # Drawn right to left and line by line: the order of drawing must not matter.
    for number in range(len(LEFT)):
        pdf.lines(110, 45 + 5 * number, [RIGHT[number]])
        pdf.lines(20, 45 + 5 * number, [LEFT[number]])
    pdf.lines(
        20, 90, ["And this line goes across both of them once more, so that it is read at the end."]
    )
    assert text_of(pdf.data(), "a.pdf") == (
        f"{across}\n\n"
        "The left column begins here and is filled with text that goes to the edge of it, and it "
        "has a broken example in it that must be joined. The word example is known elsewhere, and "
        "a well-known thing keeps its hyphen.\n\n"
        "The right column follows when the left one is at its end, and never between its lines. It "
        "has a well-known hyphen too, which must stay, and last it says that this is all there is "
        "to say in this document.\n\n"
        "And this line goes across both of them once more, so that it is read at the end.\n"
    )


def test_running_heads_and_page_numbers_are_left_out() -> None:
    pdf = Printed(head="Robot Arms - a course", title="Robot Arms")
    for number in range(1, 6):
        pdf.add_page()
        pdf.text_block(f"{LOREM * 3}This is paragraph {number} of the book.")
    made = converted(pdf.data(), "a.pdf")
    assert "course" not in made.text and "of 30" not in made.text
    assert made.text.startswith("# Robot Arms\n\nThe arm moves")
    assert [place.page for place in made.places] == [1, 2, 3, 4, 5]
    for number in range(1, 6):
        at = made.text.index(f"paragraph {number} of")
        page = [place.page for place in made.places if place.start <= at][-1]
        assert page == number


def test_left_and_right_pages_have_heads_of_their_own() -> None:
    pdf = Printed()
    for number in range(1, 6):
        pdf.add_page()
        pdf.lines(20, 15, ["The title of it all" if number % 2 else "A chapter of it"])
        pdf.lines(20, 30, [f"This is what page {number} says, and nothing but this, in one line."])
    made = text_of(pdf.data(), "a.pdf")
    assert "of it" not in made and made.count("This is what page") == 5


def test_a_line_that_repeats_in_the_text_stays() -> None:
    pdf = Printed(head="Head of the page")
    for _ in range(4):
        pdf.add_page()
        pdf.text_block(LOREM * 4)
    made = text_of(pdf.data(), "a.pdf")
    assert made.count("planned path") == 16
    assert "Head of the page" not in made


def test_the_outline_is_the_hierarchy() -> None:
    pdf = Printed(head="A Course in Arms", title="Arms")
    for chapter in (1, 2):
        pdf.add_page()
        pdf.heading(f"Chapter {chapter} Joints", outline=0)
        pdf.text_block(LOREM * 5)
        pdf.heading("A part that has a long name which goes on over two lines", 14, outline=1)
        pdf.text_block(LOREM * 5 + f"Here {chapter} ends.")
    page = page_of(pdf.data(), "a.pdf")
    assert [line for line in page.source.text.splitlines() if line.startswith("#")] == [
        "# Arms",
        "## Chapter 1 Joints",
        "### A part that has a long name which goes on over two lines",
        "## Chapter 2 Joints",
        "### A part that has a long name which goes on over two lines",
    ]
    last = page.chunks[-1].metadata
    assert last.heading_path == [
        "Arms",
        "Chapter 2 Joints",
        "A part that has a long name which goes on over two lines",
    ]
    assert (last.chapter_title, last.page) == ("Chapter 2 Joints", 2)
    assert last.url == "https://example.org/a.pdf#page=2"


def test_an_outline_whose_words_are_not_printed_makes_headings_too() -> None:
    pdf = Printed()
    pdf.add_page()
    pdf.start_section("Only in the outline")
    pdf.text_block(LOREM * 3)
    assert text_of(pdf.data(), "a.pdf").startswith("## Only in the outline\n\nThe arm moves")


def test_without_an_outline_the_size_of_letters_makes_headings() -> None:
    pdf = Printed()
    pdf.add_page()
    pdf.heading("The Great Book", 28)
    pdf.heading("First chapter", 18)
    pdf.text_block(LOREM * 4)
    pdf.heading("A section", 14)
    pdf.text_block(LOREM * 4)
    pdf.add_page()
    pdf.heading("Second chapter", 18)
    pdf.text_block(LOREM * 4)
    made = text_of(pdf.data(), "a.pdf")
    assert [line for line in made.splitlines() if line.startswith("#")] == [
        "# The Great Book",
        "## First chapter",
        "### A section",
        "## Second chapter",
    ]


def test_a_paragraph_goes_on_on_the_next_page() -> None:
    pdf = Printed(head="Head of it")
    pdf.add_page()
    pdf.text_block(LOREM * 80 + "The end of the paragraph.")
    made = converted(pdf.data(), "a.pdf")
    assert len(made.text.strip().split("\n\n")) == 1
    assert [place.page for place in made.places] == [1, 2]
    turn = made.places[1].start
    assert made.text[turn - 1] == " " and 0 < turn < len(made.text)
    page = page_of(pdf.data(), "a.pdf")
    over = [chunk for chunk in page.chunks if chunk.metadata.page_starts]
    assert over
    place = over[0].metadata
    (first, one), (second, two) = place.page_starts
    assert (first, one, two) == (0, 1, 2)
    assert [place.page_at(offset) for offset in (0, second - 1, second)] == [1, 1, 2]
    assert place.url_at(second).endswith("/a.pdf#page=2")


def test_a_table_becomes_a_table() -> None:
    pdf = Printed()
    pdf.add_page()
    pdf.text_block(LOREM * 3)
    rows = [
        ("Name", "Mass", "Range"),
        ("Base", "12 kg", "180"),
        ("Elbow", "4 kg", "140"),
        ("Wrist with a long name that goes over two lines", "1 kg", "360"),
    ]
    pdf.grid(rows)
    pdf.text_block(LOREM * 3)
    assert (
        "| Name | Mass | Range |\n| --- | --- | --- |\n| Base | 12 kg | 180 |\n"
        "| Elbow | 4 kg | 140 |\n"
        "| Wrist with a long name that goes over two lines | 1 kg | 360 |\n"
    ) in text_of(pdf.data(), "a.pdf")


def test_a_line_below_two_columns_of_a_table() -> None:
    def row(y: float, *places: tuple[str, float, float]) -> Row:
        pieces = tuple(TextRun(text, left, right, y, 10) for text, left, right in places)
        return Row(pieces, 1, 0, 0, 100)

    rows = [
        row(100, ("a", 0, 10), ("b", 60, 70)),
        row(90, ("wide", 5, 50)),
        row(80, ("c", 0, 10), ("d", 30, 40), ("e", 60, 70)),
    ]
    assert table_at(rows, 0) == (3, [["a", "", "b"], ["wide", "", ""], ["c", "d", "e"]])


def test_code_keeps_its_lines() -> None:
    pdf = Printed()
    pdf.add_page()
    pdf.text_block(LOREM)
    pdf.code("def turn(joint):\n    if joint:\n        return 1\n\n    return 2")
    pdf.text_block(LOREM)
    assert (
        "\n\n```\ndef turn(joint):\n    if joint:\n        return 1\n\n    return 2\n```\n\n"
    ) in text_of(pdf.data(), "a.pdf")


def test_lists_and_paragraphs() -> None:
    pdf = Printed()
    pdf.add_page()
    pdf.lines(
        20, 30, ["A first paragraph that is rather long and so goes over several lines, of which"]
    )
    pdf.lines(20, 35, ["the last is short."])
    pdf.lines(
        25, 40, ["A second one begins with an indent and is as long as the first one is, with a"]
    )
    pdf.lines(20, 45, ["last line that is short as well."])
    pdf.lines(
        20,
        55,
        ["\x95 the first entry of a list, which is so long that it has to be continued on the"],
    )
    pdf.lines(23, 60, ["next line"])
    pdf.lines(20, 65, ["\x95 the second entry", "1. a numbered one", "2. another"])
    assert text_of(pdf.data(), "a.pdf") == (
        "A first paragraph that is rather long and so goes over several lines, of which the last "
        "is short.\n\n"
        "A second one begins with an indent and is as long as the first one is, with a last line "
        "that is short as well.\n\n"
        "- the first entry of a list, which is so long that it has to be continued on the next "
        "line\n- the second entry\n\n1. a numbered one\n\n2. another\n"
    )


def test_a_turned_page_is_read_along_its_lines() -> None:
    pdf = Printed()
    pdf.add_page()
    for number, line in enumerate(LEFT):
        with pdf.rotation(90, 100, 100):
            pdf.lines(40, 60 + 5 * number, [line])
    with pdf.rotation(45, 100, 100):
        pdf.lines(40, 200, ["DRAFT"])
    made = text_of(pdf.data(), "a.pdf")
    assert made.startswith("The left column begins here and is filled with text")
    assert "DRAFT" not in made


def test_angle_brackets_are_text() -> None:
    pdf = Printed()
    pdf.add_page()
    pdf.text_block("A vector<int> holds numbers, and {{macro}} is not for us. " + LOREM * 3)
    page = page_of(pdf.data(), "a.pdf")
    assert "A vector<int> holds numbers, and {{macro}} is not for us." in page.text


def test_a_printed_table_of_contents_is_a_list() -> None:
    pdf = Printed()
    pdf.add_page()
    pdf.lines(20, 30, ["1 Introduction . . . . . . . . . . . . . . 1", "2 Joints ............ 12"])
    pdf.text_block(LOREM * 4)
    assert "- 1 Introduction … 1\n- 2 Joints … 12\n" in text_of(pdf.data(), "a.pdf")


def test_the_language_of_the_file() -> None:
    pdf = Printed(language="de-AT")
    pdf.add_page()
    pdf.text_block(LOREM * 4)
    page = page_of(pdf.data(), "a.pdf")
    assert (
        "its language is de, and the book's is en; set language in bythebook.toml" in page.problems
    )


def test_a_file_with_a_password() -> None:
    pdf = Printed()
    pdf.add_page()
    pdf.text_block(LOREM)
    with pytest.raises(InputError, match=r"a.pdf needs a password to be opened. Save a copy"):
        converted(pdf.data(password="secret"), "a.pdf")


def test_a_scanned_file() -> None:
    pdf = Printed()
    for _ in range(2):
        pdf.add_page()
        pdf.image(_picture(), 10, 10, 100)
    with pytest.raises(InputError, match=r"holds no text: its 2 pages are pictures.*ocrmypdf"):
        converted(pdf.data(), "a.pdf")


def test_a_scanned_page_among_others() -> None:
    pdf = Printed()
    pdf.add_page()
    pdf.text_block(LOREM * 4)
    pdf.add_page()
    pdf.image(_picture(), 10, 10, 100)
    made = converted(pdf.data(), "a.pdf")
    assert made.problems == ("page 2 of it hold pictures and no text; ocrmypdf can add the text",)


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7\n", b"hello", b"%PDF-1.7\n%%EOF"])
def test_a_damaged_file(data: bytes) -> None:
    with pytest.raises(InputError, match=r"a.pdf is damaged or not a PDF file. Save it again"):
        converted(data, "a.pdf")


def test_too_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bythebook.reading.readers.pdf.MAX_PAGES", 2)
    pdf = Printed()
    for _ in range(3):
        pdf.add_page()
        pdf.text_block(LOREM)
    with pytest.raises(InputError, match=r"has 3 pages, more than the 2 that are read. Split it."):
        converted(pdf.data(), "a.pdf")


def _picture() -> bytes:
    """A small PNG."""
    import io

    from PIL import Image

    made = io.BytesIO()
    Image.new("L", (20, 20), 128).save(made, "PNG")
    return made.getvalue()
