"""Whatever is wrong with a folder, the person learns what and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bythebook.errors import BookError
from bythebook.models.values import check_book_id
from bythebook.reading.layout import find_book
from bythebook.reading.source import decode, read_bytes
from reading.reading_tools import read_folder, write_files

TEXT = "Some text that is long enough.\n"


def test_a_binary_file() -> None:
    with pytest.raises(BookError, match=r"a.md is not a text file. Remove it") as error:
        decode("a.md", b"text\0more")
    assert error.value.action


def test_invalid_utf8() -> None:
    with pytest.raises(BookError, match=r"a.md is not valid UTF-8 \(byte 3\). Save it as UTF-8."):
        decode("a.md", b"abc\xff")


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "x" * 3_000_000})
    with pytest.raises(BookError, match=r"a.md has 3 MB, more than the 2 MB allowed. Split it"):
        read_bytes(tmp_path, "a.md", 2_000_000)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(BookError, match=r"a.md can't be read: No such file"):
        read_bytes(tmp_path, "a.md", 1000)


@pytest.mark.parametrize("name", ["missing", "x" * 5000, "a\0b"])
def test_a_missing_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(BookError, match=r"There is no file or folder .* Check the path"):
        find_book(tmp_path / name)


def test_a_folder_without_pages(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.txt": TEXT, ".hidden/b.md": TEXT, "node_modules/c.md": TEXT})
    with pytest.raises(BookError, match=r"There are no pages of a book in .*\.mdx"):
        find_book(tmp_path)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.txt": TEXT})
    with pytest.raises(BookError, match=r"neither a folder nor a file that can be read.*\.pdf"):
        find_book(tmp_path / "a.txt")


def test_links(tmp_path: Path) -> None:
    write_files(tmp_path, {"outside.md": TEXT, "book/a.md": TEXT, "book/deep/b.md": TEXT})
    book = tmp_path / "book"
    (book / "circle").symlink_to(book)
    (book / "deep" / "up").symlink_to(book / "deep")
    (book / "out.md").symlink_to(tmp_path / "outside.md")
    (book / "dangling.md").symlink_to(tmp_path / "nothing.md")
    (book / "itself.md").symlink_to(book / "itself.md")
    (book / "inside.md").symlink_to(book / "a.md")
    found = find_book(book)
    assert found.files == ("a.md", "inside.md", "deep/b.md")
    assert sorted(found.problems) == [
        "circle is a link to a folder and was not followed",
        "dangling.md is a link that leads out of the book, or to nothing",
        "deep/up is a link to a folder and was not followed",
        "itself.md is a link that leads out of the book, or to nothing",
        "out.md is a link that leads out of the book, or to nothing",
    ]


def test_a_book_behind_a_link(tmp_path: Path) -> None:
    write_files(tmp_path, {"real/a.md": TEXT})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert find_book(tmp_path / "link").files == ("a.md",)


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": TEXT})
    try:
        (tmp_path / os.fsdecode(b"b\xff.md")).write_text(TEXT)
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    pages = read_folder(tmp_path, "book")
    assert list(pages) == ["a.md"]
    assert "not UTF-8" in pages["a.md"].book.problems[0]


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ("[book", "can't be used"),
        ("[book]\nunknown = 1", "book.unknown: Extra inputs"),
        ("[book]\nid = 'Not Good'", "book.id"),
        ("[book]\ntitle = ' '", "book.title"),
        ("[book]\nflavor = 'word'", "book.flavor"),
        ("[book]\nlanguage = 'English'", "book.language"),
        ("[defaults]\nhardware_tier = 9", "defaults.hardware_tier"),
        ("[modules]\na = ''", "modules.a"),
        ("[book]\ndocs = '..'", "which is not in the book"),
        ("[book]\ndocs = 'missing'", "which is not in the book"),
        ("book = 3", "book"),
    ],
)
def test_a_wrong_manifest(tmp_path: Path, manifest: str, reason: str) -> None:
    write_files(tmp_path, {"a.md": TEXT, "bythebook.toml": manifest})
    with pytest.raises(BookError, match=reason) as error:
        find_book(tmp_path)
    assert "bythebook.toml" in str(error.value)
    assert error.value.action.startswith("Correct ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("book.toml", "[book]\nsrc = '../secret'"),
        ("mkdocs.yml", "docs_dir: ../secret"),
        ("mkdocs.yml", "docs_dir: link"),
    ],
)
def test_a_site_configuration_can_not_lead_out_of_the_book(
    tmp_path: Path, name: str, text: str
) -> None:
    write_files(tmp_path, {"secret/plans.md": TEXT, "book/a.md": TEXT, f"book/{name}": text})
    (tmp_path / "book" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(BookError, match="not in the book"):
        find_book(tmp_path / "book")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *[("book.toml", "[book"), ("mkdocs.yml", "a: [b"), ("mkdocs.yml", "a: !!bool b")],
        *[("mkdocs.yml", "a: 2024-13-45"), ("mkdocs.yml", "a: " + "9" * 5000)],
    ],
)
def test_a_broken_site_configuration(tmp_path: Path, name: str, text: str) -> None:
    write_files(tmp_path, {"a.md": TEXT, name: text})
    with pytest.raises(BookError, match=f"{name} can't be read: .+ Correct it."):
        find_book(tmp_path)


@pytest.mark.parametrize(
    "book_id", ["", "Upper", "a b", "a:b", "../a", "-a", "a\n", "x" * 101, "ä"]
)
def test_a_bad_book_id(book_id: str) -> None:
    with pytest.raises(BookError, match=r"can't be a book's id. Use lower-case letters"):
        check_book_id(book_id)


@pytest.mark.parametrize("book_id", ["a", "physical-ai.v2_x", "2024", "x" * 100])
def test_a_good_book_id(book_id: str) -> None:
    assert check_book_id(book_id) == book_id
