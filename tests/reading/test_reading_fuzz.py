"""Whatever bytes a file has, its reader makes text of them or says why it can't, and nothing else
happens; what it makes keeps all rules of a page."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bythebook.errors import InputError
from bythebook.reading.readers import FORMATS
from extent import examples
from reading.converting import converted, page_of
from reading.made_files import (
    Printed,
    code_cell,
    docx,
    epub,
    listed,
    markdown_cell,
    notebook,
    para,
)
from reading.test_reading_html import PAGE
from reading.test_reading_rst import MANUAL

SUFFIXES = [".pdf", ".epub", ".html", ".rst", ".ipynb", ".docx"]
Changes = list[tuple[float, int]]
changes = st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=20)


@cache
def sample(suffix: str) -> bytes:
    """A small valid file with a bit of everything."""
    if suffix == ".pdf":
        pdf = Printed(head="Head", title="Title")
        pdf.set_compression(False)  # so that changes reach the text, not only its packing
        for chapter in (1, 2):
            pdf.add_page()
            pdf.heading(f"Chapter {chapter}", outline=0)
            pdf.text_block("Some words of a paragraph that goes on for a while. " * 5)
            pdf.grid([("a", "b"), ("1", "2")])
            pdf.code("x = 1\n  y = 2")
        return pdf.data()
    if suffix == ".epub":
        return epub({"a.xhtml": PAGE, "b.xhtml": "<p>x</p>"}, contents={"b.xhtml": "B"})
    if suffix == ".docx":
        return docx(para("T", "Title") + para("H", "Heading1") + listed("x", 1) + para("text"))
    if suffix == ".ipynb":
        output = {"output_type": "stream", "name": "stdout", "text": "hello"}
        return notebook(markdown_cell("# T\n", "text"), code_cell("x = 1", output))
    return {".html": PAGE, ".rst": MANUAL}[suffix].encode()


def check(data: bytes, suffix: str) -> None:
    try:
        converted(data, f"a{suffix}")
    except InputError as problem:
        assert problem.action
        return
    page_of(data, f"a{suffix}")


def changed(data: bytes, wanted: Changes) -> bytes:
    made = bytearray(data)
    for place, value in wanted:
        made[int(place * len(made))] = value
    return bytes(made)


def test_every_format_is_tried() -> None:
    modules = {FORMATS[suffix] for suffix in SUFFIXES}
    assert modules == set(FORMATS.values())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_samples_are_valid(suffix: str) -> None:
    assert page_of(sample(suffix), f"a{suffix}").chunks


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(data=st.binary(max_size=300))
@settings(max_examples=examples(40))
def test_random_bytes(suffix: str, data: bytes) -> None:
    check(data, suffix)


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(share=st.floats(0, 1))
@settings(max_examples=examples(20))
def test_a_file_that_ends_early(suffix: str, share: float) -> None:
    data = sample(suffix)
    check(data[: int(share * len(data))], suffix)


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(wanted=changes)
@settings(max_examples=examples(40))
def test_a_file_with_wrong_bytes(suffix: str, wanted: Changes) -> None:
    check(changed(sample(suffix), wanted), suffix)


@pytest.mark.parametrize("suffix", [".epub", ".docx"])
@given(text=st.text(max_size=200), wanted=changes)
@settings(max_examples=examples(40))
def test_wrong_markup_in_a_sound_archive(suffix: str, text: str, wanted: Changes) -> None:
    text = text.encode("utf-8", "ignore").decode()
    broken = changed(PAGE.encode(), wanted).decode("utf-8", "replace") + text
    check(epub({"a.xhtml": broken}) if suffix == ".epub" else docx(broken), suffix)


@given(text=st.text(st.sampled_from("<>/=\"' abptdrhul&;!-[]1\n")))
@settings(max_examples=examples(300))
def test_any_markup(text: str) -> None:
    check(text.encode(), ".html")


@given(text=st.text(st.sampled_from("`*_|:.=-+#>[]<\\ ab1\n\t")))
@settings(max_examples=examples(150))
def test_any_restructured_text(text: str) -> None:
    check(text.encode(), ".rst")
