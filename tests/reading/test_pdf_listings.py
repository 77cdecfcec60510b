"""Printed contents and indexes of PDF books are left out; what only looks like them stays."""

from __future__ import annotations

import pytest

from bythebook.models.passage import label_of
from reading.converting import converted, page_of, text_of
from reading.made_files import Printed

DOTS = "." * 60
LOREM = "The arm moves along the planned path while the controller compares both positions. "
CHAPTERS = ["Links and Joints", "Motors", "Sensing the World", "Planning a Path", "Safety"]
PARTS = ["What it is", "How it is built", "What can go wrong"]
TERMS = "accuracy backlash brake camera collision drive elbow encoder force gripper joint".split()
MORE_TERMS = "link motor noise path payload sensor singularity speed torque wrist".split()


def contents(pdf: Printed, dots: str, front: int) -> None:
    """Lines as a person reads them; chapter n begins on the n-th page behind the front matter."""
    pdf.add_page()
    pdf.heading("What You Will Find", outline=0)
    lines: list[tuple[str, str]] = [("Preface", "v")]
    for number, chapter in enumerate(CHAPTERS, 1):
        lines.append((f"{number} {chapter}", str(number)))
        lines += [(f"{number}.{n} {part}", str(number)) for n, part in enumerate(PARTS, 1)]
    for count, (title, page) in enumerate(lines):
        y = 45 + 6 * count
        pdf.lines(20, y, [f"{title} {dots}"])
        pdf.lines(185, y, [page])
    assert pdf.page_no() == front


def chapters(pdf: Printed) -> None:
    for number, chapter in enumerate(CHAPTERS, 1):
        pdf.add_page()
        pdf.heading(f"{number} {chapter}", outline=0)
        words = ", ".join((TERMS + MORE_TERMS)[4 * number - 4 : 4 * number + 1])
        pdf.text_block(f"{LOREM * 3}Here we speak of {words}.")
        for n, part in enumerate(PARTS, 1):
            pdf.heading(f"{number}.{n} {part}", 14, outline=1)
            pdf.text_block(LOREM * 4)


def index(pdf: Printed, between: str) -> None:
    pdf.add_page()
    pdf.heading("Where to Look", outline=0)
    for left, terms in ((20, TERMS), (110, MORE_TERMS)):
        for count, term in enumerate(terms):
            at = (TERMS + MORE_TERMS).index(term) // 4 + 1
            pdf.lines(left, 50 + 6 * count, [f"{term}{between}{at}"])


def book(dots: str = "", between: str = ", ") -> bytes:
    pdf = Printed(title="Arms")
    pdf.add_page()
    pdf.heading("A Preface", outline=0)
    pdf.text_block(LOREM * 5)
    contents(pdf, dots, front=2)
    chapters(pdf)
    index(pdf, between)
    return pdf.data()


@pytest.mark.parametrize("dots", ["", DOTS, ". " * 40])
@pytest.mark.parametrize("between", [", ", " ", f" {DOTS} "])
def test_a_book_with_contents_and_an_index(dots: str, between: str) -> None:
    made = converted(book(dots, between), "arms.pdf")
    headings = [line for line in made.text.splitlines() if line.startswith("## ")]
    assert headings == [
        "## A Preface",
        *(f"## {number} {chapter}" for number, chapter in enumerate(CHAPTERS, 1)),
    ]
    for part in PARTS:
        assert made.text.count(part) == len(CHAPTERS)
    assert made.text.count("backlash") == 1 and made.text.count("wrist") == 1
    assert "Find" not in made.text and "Look" not in made.text
    assert [place.page for place in made.places] == [1, 3, 4, 5, 6, 7]


def test_a_citation_opens_the_page_of_its_words() -> None:
    page = page_of(book(DOTS), "arms.pdf")
    for number, chapter in enumerate(CHAPTERS, 1):
        place, at = next(
            (chunk.metadata, chunk.text.index(f"{number} {chapter}"))
            for chunk in page.chunks
            if f"{number} {chapter}" in chunk.text
        )
        assert place.url_at(at).endswith(f"arms.pdf#page={number + 2}")
        assert place.page_at(at) == number + 2
        assert label_of(place, at) == f"Arms › {number} {chapter}"
        below = f"{number}.1 {PARTS[0]}"
        for chunk in page.chunks:
            if below in chunk.text:
                label = label_of(chunk.metadata, chunk.text.index(below))
                assert label == f"Arms › {number} {chapter} › {below}"


def test_contents_above_the_first_words_of_a_short_paper() -> None:
    pdf = Printed()
    pdf.add_page()
    pdf.heading("On Arms", 24)
    pdf.heading("Contents", 14)
    for count, part in enumerate(["Aim", "Method", "Results", "What is left"], 1):
        pdf.lines(20, 40 + 6 * count, [f"{part} {'.' * 80} {count}"])
    pdf.set_y(75)
    pdf.heading("Aim", 14)
    pdf.text_block(LOREM * 4)
    made = text_of(pdf.data(), "a.pdf")
    assert made.startswith("# On Arms\n\n## Aim\n\nThe arm moves")
    assert "Contents" not in made and "Results" not in made


@pytest.mark.parametrize("prose", [0, 4])
def test_tables_that_end_in_numbers_stay(prose: int) -> None:
    """The last page holds a table in the order of the alphabet, with rising numbers."""
    pdf = Printed()
    for count in range(3):
        pdf.add_page()
        pdf.text_block(LOREM * prose or "A table.")
        pdf.grid([("Joint", "Mass"), *((f"{t} {count}", f"{n + 4}") for n, t in enumerate(TERMS))])
    made = text_of(pdf.data(), "a.pdf")
    assert all(f"| {term} 2 | {n + 4} |" in made for n, term in enumerate(TERMS))


def test_a_price_list_with_dots_stays() -> None:
    pdf = Printed()
    pdf.add_page()
    prices = [12, 5, 30, 2, 18, 7]
    pdf.lines(
        20, 30, [f"{term} {'.' * 60} {cost}" for term, cost in zip(TERMS, prices, strict=False)]
    )
    pdf.set_y(75)
    pdf.text_block(LOREM * 4)
    assert "- collision … 18\n" in text_of(pdf.data(), "a.pdf")


def test_references_at_the_end_stay() -> None:
    pdf = Printed()
    for _ in range(2):
        pdf.add_page()
        pdf.text_block(LOREM * 9)
    pdf.add_page()
    pdf.heading("References")
    for count, name in enumerate(MORE_TERMS * 2):
        pdf.text_block(f"{name}, A. On arms and what they are used for. Robots {count}, 3-{count}")
    assert text_of(pdf.data(), "a.pdf").count("On arms and what they are") == 20
