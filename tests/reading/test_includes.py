"""What a page takes from other files of the book."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.reading import source
from bythebook.reading.document import PLAIN
from bythebook.reading.includes import MOST_TOGETHER, Includes, part_of
from bythebook.reading.layout import find_book
from bythebook.reading.placement import place_pages
from bythebook.settings import Settings
from reading.reading_tools import write_files

MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Found:
    text: str
    problems: tuple[str, ...]


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


README = "# Pump\n\n<!-- teaser-begin -->\nA pump moves water.\n<!-- teaser-end -->\n\nThe rest.\n"

README_RST = "Before.\n\n.. teaser-begin\n\nA pump moves water.\n\n.. end\n\nThe rest.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """With its documentation by Sphinx in `docs`, beside what belongs to others."""
    write_files(
        tmp_path,
        {
            "secret.md": "The secret words.\n",
            "pump/pyproject.toml": "[project]\n",
            "pump/README.md": README,
            "pump/README.rst": README_RST,
            "pump/.env.md": "The secret words.\n",
            "pump/docs/conf.py": "project = 'Pump'\n",
            "pump/docs/index.md": "# Pumps\n",
            "pump/docs/index2.rst": "Pumps\n=====\n",
        },
    )
    (tmp_path / "pump" / "link.md").symlink_to(tmp_path / "secret.md")
    return tmp_path / "pump"


TEASER_OF_MYST = (
    "```{include} ../README.md\n:start-after: 'begin -->'\n:end-before: '<!-- teaser-end'\n```"
)
TEASER_OF_RST = ".. include:: ../README.rst\n   :start-after: teaser-begin\n   :end-before: .. end"


@pytest.mark.parametrize("folder", ["docs", "doc/build", "docs/source"])
@pytest.mark.parametrize(
    ("page", "order"), [("index.md", TEASER_OF_MYST), ("index2.rst", TEASER_OF_RST)]
)
def test_a_page_of_sphinx_takes_the_readme_of_its_project(
    project: Path, folder: str, page: str, order: str
) -> None:
    docs = project / folder
    docs.parent.mkdir(exist_ok=True)
    if docs != project / "docs":
        (project / "docs").rename(project / "other")
        docs.parent.mkdir(exist_ok=True)
        (project / "other").rename(docs)
    up = "../" * len(Path(folder).parts)
    with (docs / page).open("a") as opened:
        opened.write(f"\nThis is it:\n\n{order.replace('../', up)}\n")
    found = passages(docs, page)
    assert "A pump moves water." in found.text
    assert "The rest." not in found.text and "teaser" not in found.text
    assert found.problems == ()


def passages(docs: Path, page: str) -> Found:
    book = find_book(docs)
    heads = {file: PLAIN.glance(book, file, MAX_BYTES, "").head for file in book.files}
    placements = place_pages(book, {file: head for file, head in heads.items() if head})
    document = PLAIN.read(book, page, placements[page], MAX_BYTES).document
    return Found("\n".join(chunk.text for chunk in document.chunks), document.problems)


@pytest.mark.parametrize("target", ["../../secret.md", "../link.md", "../.env.md", "../none.md"])
def test_what_is_not_of_the_project_is_named_and_left_out(project: Path, target: str) -> None:
    (project / "docs" / "index.md").write_text(
        f"# Pumps\n\nSome words before.\n\n```{{include}} {target}\n```\n"
    )
    found = passages(project / "docs", "index.md")
    assert found.text == "# Pumps\n\nSome words before."
    assert [problem.partition(" was")[0] for problem in found.problems] == [
        f"{target}, which line 5 includes,"
    ]


@pytest.mark.parametrize("missing", ["pyproject.toml", "docs/conf.py"])
def test_only_a_project_with_sphinx_is_more_than_its_documentation(
    project: Path, missing: str
) -> None:
    (project / missing).unlink()
    assert find_book(project / "docs").top == project / "docs"


def test_other_folders_in_a_project_are_not_its_documentation(project: Path) -> None:
    (project / "docs").rename(project / "uploads")
    assert find_book(project / "uploads").top == project / "uploads"


def test_the_change_logs_before_are_not_taken_into_one(project: Path) -> None:
    (project / "docs" / "old.rst").write_text("Of long ago.\n")
    order = ".. changelog_imports::\n\n    .. include:: old.rst\n        :start-line: 5\n\n"
    (project / "docs" / "index2.rst").write_text(f"{order}Of today, and nothing else.\n")
    found = passages(project / "docs", "index2.rst")
    assert found == Found("Of today, and nothing else.", ())


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
