"""What a page takes from other files of the book."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.reading import source
from bythebook.reading.includes import MOST_TOGETHER, Includes, part_of
from bythebook.settings import Settings

MAIN = "fn x() {}\n// ANCHOR: here\nfn main() {}\n// ANCHOR_END: here\n"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "book.toml").write_text('[book]\ntitle = "T"\n')
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "SUMMARY.md").write_text("# Summary\n\n- [One](one.md)\n")
    (tmp_path / "src" / "one.md").write_text("# One\n\nNothing is included here at all.\n")
    (tmp_path / "listings").mkdir()
    (tmp_path / "listings" / "main.rs").write_text(MAIN)
    (tmp_path / "listings" / "out.txt").write_text("printed words\n")
    return tmp_path


def filled(book: Path, text: str, page: str = "one.md") -> str:
    return Includes(book).fill(book / "src" / page, text)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (
            "```rust\n{{#rustdoc_include ../listings/main.rs:here}}\n```",
            "```rust\nfn main() {}\n```",
        ),
        ("```rust\n{{#include ../listings/main.rs}}\n```", "```rust\nfn x() {}\nfn main() {}\n```"),
        ("See {{#include ../listings/out.txt}}.", "See printed words."),
        ("{{#include ../listings/main.rs:1:1}}", "fn x() {}"),
        ('    --8<-- "listings/out.txt"', "    printed words"),
        ("{* ../listings/main.rs hl[1] ln[1:1] *}", "```rust\nfn x() {}\n```"),
        ('{{< include "listings/out.txt" >}}', "printed words"),
        ("<<< @/listings/out.txt{1}", "```txt\nprinted words\n```"),
        ("```{literalinclude} ../listings/main.rs\n:lines: 1\n```", "```rust\nfn x() {}\n```"),
        ("```{include} ../listings/out.txt\n```", "printed words"),
    ],
)
def test_includes_of_markdown(book: Path, written: str, shown: str) -> None:
    assert filled(book, f"Before\n\n{written}\n\nAfter") == f"Before\n\n{shown}\n\nAfter"


def test_includes_of_restructuredtext(book: Path) -> None:
    page = (
        "Text\n\n  .. literalinclude:: ../listings/main.rs\n     :language: rust\n"
        "     :start-after: ANCHOR: here\n     :end-before: ANCHOR_END\n\n"
        ".. include:: ../listings/out.txt\n"
    )
    code = "  .. code-block:: rust\n\n     fn main() {}\n"
    assert filled(book, page, "one.rst") == f"Text\n\n{code}\n\nprinted words\n"


@pytest.mark.parametrize(
    "placeholder",
    ["```rust\n{{#include ../listings/none.rs}}\n```", "{{#quiz a.toml}}", "{* none.py *}"],
)
def test_what_cannot_be_filled_is_left_out(book: Path, placeholder: str) -> None:
    assert filled(book, f"Before\n\n{placeholder}\n\nAfter").split() == ["Before", "After"]


def test_nothing_outside_of_the_book_is_included(book: Path) -> None:
    secret = book.parent / f"{book.name}-secret.txt"
    secret.write_text("the secret words")
    (book / "src" / "link.txt").symlink_to(secret)
    for path in (f"../../{secret.name}", str(secret), "link.txt"):
        assert "secret" not in filled(book, f"{{{{#include {path}}}}}")
        assert "secret words" not in filled(book, f".. include:: {path}\n", "one.rst")


def test_a_file_that_includes_itself_ends(book: Path) -> None:
    (book / "src" / "one.md").write_text("again {{#include one.md}}")
    assert filled(book, "{{#include one.md}}").count("again") <= 3


def test_hidden_files_are_not_included(book: Path) -> None:
    (book / ".env").write_text("the secret words")
    assert filled(book, "{{#include ../.env}}") == ""


def test_a_page_takes_so_much_and_no_more(book: Path) -> None:
    (book / "listings" / "long.txt").write_text("word " * 30_000)
    assert len(filled(book, "{{#include ../listings/long.txt}}\n" * 50)) <= MOST_TOGETHER + 100


def test_windows_line_ends(book: Path) -> None:
    page = "Before\r\n\r\n```{include} ../listings/out.txt\r\n```\r\n"
    assert "printed words" in filled(book, page)
    assert "printed words" in filled(book, ".. include:: ../listings/out.txt\r\n", "one.rst")


PIECES = (
    "{{#include ", "../listings/main.rs", ":", "1:2:3", ",", "}}", "\n", "```{literalinclude} ",
    ":lines: 1-", "```", "--8<-- \"", "{* ", " ln[0:,9] *}", ".. include:: ", "<<< @/", "here",
)  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.sampled_from([".md", ".rst"])
)
def test_nothing_that_is_written_stops_it(text: str, ending: str) -> None:
    with TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        (top / "listings").mkdir()
        (top / "listings" / "main.rs").write_text(MAIN)
        assert isinstance(Includes(top).fill(top / f"one{ending}", text), str)


def test_a_page_without_includes_is_not_touched(book: Path) -> None:
    text = "No `{{ value }}`, no {* bold *} here.\n"
    assert filled(book, text) is text


def test_parts_of_a_file() -> None:
    assert part_of("a\nb\nc\n", "2:") == "b\nc\n"
    assert part_of("a\nb\nc\n", "1,3") == "a\nc\n"
    assert part_of(MAIN, "nothing") == ""


async def test_a_changed_include_is_ingested_again(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "SETTLED_NS", 0)  # a file is settled once it is written
    page = "# One\n\nWhat the program prints when it runs:\n\n{{#include ../listings/out.txt}}\n"
    (book / "src" / "one.md").write_text(page)
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        await library.ingest(book, book_id="b")
        first = await library.ingest(book, book_id="b")
        (book / "listings" / "out.txt").write_text("other words\n")
        second = await library.ingest(book, book_id="b")
        query = SearchQuery(text="what does the program print", book_id="b")
        found = (await library.search(query)).passages
    assert (first.files_processed, second.files_processed) == (0, 1)
    assert "other words" in found[0].text and "printed words" not in found[0].text
