"""References to other places of a book show the titles of their targets, in whatever order its
pages are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.library import Library
from bythebook.reading.metadata import Head
from bythebook.settings import Settings
from invariants import chunks_of
from reading.converting import text_of
from reading.reading_tools import book_of, check_page, read_sources, read_text

TARGETS = """\
.. _pump-speed:

How fast it *turns*
===================

A pump turns as fast as its motor, and a valve slows it down.
"""


def shown(text: str, file: str = "a.rst", **others: str) -> str:
    """What the page shows beside pages `b.rst`, `sub/c.md` and the like."""
    files = {file: text} | {
        name.replace("__", "/").replace("_", "."): o for name, o in others.items()
    }
    pages = read_sources(book_of(tuple(files)), {name: one.encode() for name, one in files.items()})
    for page in pages.values():
        check_page(page)
    return pages[file].text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (":ref:`pump-speed`", "How fast it turns"),
        (":ref:`Pump-Speed`", "How fast it turns"),
        (":std:ref:`pump-speed`", "How fast it turns"),
        (":ref:`its speed <pump-speed>`", "its speed"),
        (":doc:`b`", "How fast it turns"),
        (":doc:`/b`", "How fast it turns"),
        (":ref:`b:Some section`", "Some section"),
        (":ref:`nowhere`", "nowhere"),
    ],
)
def test_restructuredtext(written: str, read: str) -> None:
    page = f"Valves\n======\n\nWhat slows it, and more on {written}, is told here.\n"
    assert f"more on {read}, is told" in shown(page, b_rst=TARGETS)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("{ref}`pump-speed`", "How fast it turns"),
        ("{ref}`its speed <pump-speed>`", "its speed"),
        ("{doc}`b`", "How fast it turns"),
        ("[](b.rst)", "How fast it turns"),
        ("[](#pump-speed)", "How fast it turns"),
        ("[](pump-speed)", "How fast it turns"),
        ("[](#below-here)", "Below here"),
        ("{doc}`nowhere`", "nowhere"),
        ("``{ref}`pump-speed` ``", "``{ref}`pump-speed` ``"),
        ("![](b.png)", "![](b.png)"),
        ("{pep}`681`", "PEP 681"),
        ("{rfc}`9110`", "RFC 9110"),
        ("{issue}`557`", "#557"),
    ],
)
def test_myst(written: str, read: str) -> None:
    page = f"# Valves\n\nWhat slows it, and more on {written} is told.\n\n## Below here\n\nMore.\n"
    assert f"more on {read} is told" in shown(page, "a.md", b_rst=TARGETS)


def test_labels_of_myst() -> None:
    page = "# Valves\n\n(one)=\n(two)=\n\n## On {term}`valves`\n\nThey slow a pump down.\n"
    assert "See On valves, On valves." in shown("See :ref:`one`, :ref:`two`.\n", b_md=page)


def test_code_shows_what_is_written() -> None:
    code = "```text\n{ref}`pump-speed` [](b.rst)\n```"
    assert code in shown(f"# Valves\n\nAs written:\n\n{code}\n", "a.md", b_rst=TARGETS)


def test_the_first_page_that_has_a_label_owns_it() -> None:
    other = TARGETS.replace("How fast it *turns*", "Something else entirely")
    page = "See :ref:`pump-speed` for more.\n"
    assert shown(page, b_rst=TARGETS, c_rst=other) == "See How fast it turns for more."
    assert shown(page, c_rst=other, b_rst=TARGETS) == "See How fast it turns for more."


def test_addresses_stay_with_their_sections() -> None:
    more = "word " * 150
    page = f"Title\n=====\n\nSee :ref:`pump-speed`. {more}\n\nA part\n------\n\n{more}\n"
    pages = read_sources(
        book_of(("a.rst", "b.rst")), {"a.rst": page.encode(), "b.rst": TARGETS.encode()}
    )
    assert [url.partition("#")[2] for url in pages["a.rst"].urls] == ["title", "a-part"]


def test_a_heading_that_is_cut_within_a_reference() -> None:
    long = "x" * 290
    page = f"{long} :ref:`pump-speed-of-all`\n{'=' * 330}\n\nSome words of the page.\n"
    assert not set("\ue000\ue001") & set(read_text(page, "a.rst").text)


def test_a_kept_head_has_them() -> None:
    head = Head(labels=(("Title", "label"),), references=("ref:label",))
    assert Head.from_json(head.to_json()) == head


async def test_a_page_is_read_again_when_a_title_it_shows_changes(tmp_path: Path) -> None:
    """Whatever is read first, the index has what an index made in one go has."""
    book = tmp_path / "book"
    book.mkdir()
    (book / "a.rst").write_text("Valves\n======\n\nTheir use is told in :ref:`pump-speed`.\n")
    (book / "c.rst").write_text("Pipes\n=====\n\nThey lead the water from here to there.\n")

    async def texts(library: Library) -> dict[str, str]:
        job = await library.ingest(book)
        chunks = await chunks_of(library, job.book_id)
        return {chunk.metadata.source_file: chunk.text for chunk in chunks}

    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        before = await texts(library)
        assert "told in pump-speed." in before["a.rst"]
        (book / "b.rst").write_text(TARGETS)
        assert "told in How fast it turns." in (await texts(library))["a.rst"]
        (book / "b.rst").write_text(TARGETS.replace("How fast it *turns*", "Its numerous turns"))
        assert "told in Its numerous turns." in (await texts(library))["a.rst"]
        (book / "b.rst").unlink()
        assert (await texts(library)) == before


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (":class:`.QueuePool`", "`QueuePool`"),
        (":attr:`.Mapper.primary_key`", "`Mapper.primary_key`"),
        (":func:`~sqla.create_engine`", "`create_engine`"),
        (":meth:`~a.B.go(x.y)`", "`go(x.y)`"),
        (":class:`_orm.Session`", "`Session`"),
        (":meth:`_orm.Session.go`", "`Session.go`"),
        (":func:`_sql.select`", "`select`"),
        (":paramref:`_orm.relate.lazy`", "`relate.lazy`"),
        (":mod:`_pytest.config.main`", "`_pytest.config.main`"),
        (":class:`a session <_orm.Session>`", "`a session`"),
        (":class:`!os.PathLike`", "`os.PathLike`"),
        (":file:`~/.bashrc`", "`~/.bashrc`"),
        (":file:`.bashrc`", "`.bashrc`"),
        (":pep:`8`", "PEP 8"),
        (":issue:`557`", "#557"),
        (":nobody-knows:`this one`", "`this one`"),
    ],
)
def test_names_are_shown_as_sphinx_shows_them(written: str, read: str) -> None:
    assert text_of(f"See {written} here.\n".encode(), "a.rst") == f"See {read} here.\n"
    role, _, rest = written[1:].partition(":")
    in_myst = shown(f"# Page\n\nThis says: See {{{role}}}{rest} here.\n", "a.md")
    assert in_myst.endswith(f"See {read} here.")
