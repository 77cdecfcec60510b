"""Small files that ask a parser for more than it has: stack, time, memory."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pydantic import BaseModel

from booktext import lesson, section
from bythebook.errors import BookError, InputError
from bythebook.moving.file_parts import PartReader
from bythebook.reading.layout import find_book
from bythebook.reading.metadata import load_toml, load_yaml, read_front_matter
from bythebook.reading.readers import convert
from bythebook.reading.readers.pdf.paragraphs import Vocabulary
from extent import PATIENCE
from reading.made_files import docx, epub, para

DEEP = 30_000
NESTED_YAML = [
    "a: " + "[" * DEEP,
    "a: " + "[" * DEEP + "]" * DEEP,
    "a: " + '{"a":' * DEEP + "1" + "}" * DEEP,
    "- " * DEEP + "a",
    "? " * DEEP + "a",
]
MERGES = "a0: &a0 {k: v}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
)
NESTED_TOML = [
    "a = " + "[" * DEEP + "]" * DEEP,
    "a = " + "{a=" * DEEP + "1" + "}" * DEEP,
    ".".join("a" * DEEP) + " = 1",
    "[" + ".".join("a" * DEEP) + "]",
    "x = {" + ".".join(['"a b"'] * DEEP) + " = 1}",
]


@pytest.mark.parametrize("text", [*NESTED_YAML, MERGES])
def test_nested_yaml_is_refused_before_it_is_parsed(text: str) -> None:
    """In a process of its own: the C parser does not raise, it dies."""
    script = (
        "import sys; from bythebook.reading.metadata import read_front_matter\n"
        "found = read_front_matter(f'---\\n{sys.stdin.read()}\\n---\\n# Page\\n')\n"
        "print(found.problems)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=text,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={"PYTHONPATH": ":".join(sys.path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert "can't be read" in done.stdout


@pytest.mark.parametrize("text", NESTED_TOML)
def test_nested_toml_is_refused(text: str, tmp_path: Path) -> None:
    front = read_front_matter(f"+++\n{text}\n+++\n# Page\n")
    assert front.problems and "can't be read" in front.problems[0]
    (tmp_path / "page.md").write_text(lesson("Page", section("Part", "nodes")))
    for name in ("bythebook.toml", "book.toml"):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=name):
            find_book(tmp_path)
        (tmp_path / name).unlink()


@pytest.mark.parametrize("text", [*NESTED_YAML, MERGES])
@pytest.mark.parametrize("name", ["mkdocs.yml", "_toc.yml", "_category_.yml"])
def test_nested_configuration_is_refused(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(lesson("Page", section("Part", "nodes")))
    (tmp_path / name).write_text(text)
    if name == "mkdocs.yml":
        with pytest.raises(InputError, match=name):
            find_book(tmp_path)
    elif name == "_toc.yml":
        assert any(name in problem for problem in find_book(tmp_path).problems)
    else:
        assert find_book(tmp_path).files == ("page.md",)


def test_a_navigation_of_references_is_walked_once(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(lesson("Page", section("Part", "nodes")))
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    text = f"site_name: A\ndocs_dir: .\na0: &a0 [page.md]\n{levels}nav: *a11\n"
    (tmp_path / "mkdocs.yml").write_text(text)
    assert find_book(tmp_path).nav == ("page.md",)


LONG = "s" * 5000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mkdocs.yml", f"site_name: A\ndocs_dir: {LONG}\n"),
        ("mkdocs.yml", f"site_name: A\nnav:\n  - A: {LONG}.md\n"),
        ("book.toml", f'[book]\nsrc = "{LONG}"\n'),
        ("bythebook.toml", f'[book]\ndocs = "{LONG}"\n'),
        ("SUMMARY.md", f"# S\n\n- [A]({LONG}.md)\n"),
        ("_toc.yml", f"root: {LONG}\n"),
        ("index.rst", f"A\n=\n\n.. toctree::\n\n   {LONG}\n\n.. include:: {LONG}\n"),
    ],
)
def test_a_name_that_no_disk_takes(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nText.\n")
    (tmp_path / name).write_text(text)
    try:
        book = find_book(tmp_path)
    except BookError as refused:
        assert refused.action
    else:
        assert "a.md" in book.files


def test_what_people_write_is_read() -> None:
    text = "a: &a {b: [1, 2]}\nc: {<<: *a, d: - x}\n".replace("- x", "x")
    assert load_yaml(text)["c"] == {"b": [1, 2], "d": "x"}
    assert load_toml("a.b.c = 1\nd = [[1], [2]]") == {"a": {"b": {"c": 1}}, "d": [[1], [2]]}
    assert load_toml('a = "' + "Some words. " * 100 + '"')


def packed(data: bytes, method: int, filler: int = 0) -> bytes:
    """The same archive, its members packed in another way."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w", method) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name) + b" " * filler)
    return made.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("name", ["a.docx", "a.epub"])
def test_members_that_can_not_be_unpacked_in_pieces_are_refused(method: int, name: str) -> None:
    page = "<html><body><h1>A</h1><p>Some words.</p></body></html>"
    data = docx(para("Some words.")) if name == "a.docx" else epub({"a.xhtml": page})
    for fine in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        assert "Some words." in convert(name, packed(data, fine), f"{fine}{name}").text
    with pytest.raises(InputError, match="packed in a way"):
        convert(name, packed(data, method), f"{method}{name}")


class Anything(BaseModel):
    """A manifest that says nothing."""


def refused() -> InputError:
    return InputError("refused")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_nor_are_those_of_an_import_or_a_backup(method: int, tmp_path: Path) -> None:
    """Before a byte of them is unpacked."""
    for name, part in (("a.btb", "book.json"), ("a.backup", "backup.json")):
        file = tmp_path / name
        with zipfile.ZipFile(file, "w", method) as archive:
            archive.writestr(part, b"{}")
        with PartReader(file, refused) as reader, pytest.raises(InputError, match="refused"):
            reader.manifest(part, Anything)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(part, b"{}")
        with PartReader(file, refused) as reader:
            assert reader.manifest(part, Anything) == Anything()


@pytest.mark.parametrize(
    ("left", "right", "joined"),
    [
        ("the be-", "ginning", "the beginning"),
        ("a well-", "known man", "a well-known man"),
        ("state-of-the-", "art", "state-of-the-art"),
        ("x a-", "b", "x a-b"),
        ("no hyphen", "here", "no hyphen here"),
        ("-", "item", "- item"),
    ],
)
def test_hyphens(left: str, right: str, joined: str) -> None:
    known = Vocabulary(["a well known man", "state-of-the-art"])
    assert known.join(left, right) == joined


@pytest.mark.parametrize("sign", ["a", "a-", "aa-", "-", "a ", "é"])
def test_a_word_of_a_million_letters(sign: str) -> None:
    """It is read in one pass; what tries each letter would not end within the test's time."""
    line = sign * (1_000_000 // len(sign))
    known = Vocabulary([line, line + "-", line + "1"])
    assert known.join(line + "-", "end") and known.join(line, "end")


@pytest.mark.parametrize("border", ["= ", "- ", "+-", "+="])
def test_a_table_of_ten_thousand_columns(border: str) -> None:
    line = (border * 9_000).strip()
    text = f"Title\n=====\n\n{line}\n" + "a\n" * 20_000 + f"{line}\n"
    with pytest.raises(InputError, match="more than 100 columns"):
        convert("a.rst", text.encode(), border)


def test_a_spine_of_twenty_thousand_documents() -> None:
    made = io.BytesIO()
    count = 20_000
    items = "".join(f'<item id="i{n}" href="{n}.xhtml"/>' for n in range(count))
    refs = "".join(f'<itemref idref="i{n}"/>' for n in range(count))
    package = f"<package><manifest>{items}</manifest><spine>{refs}</spine></package>"
    container = '<container><rootfile full-path="a.opf"/></container>'
    references = "".join(f'<CipherReference URI="{n}.font"/>' for n in range(count))
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("META-INF/encryption.xml", f"<encryption>{references}</encryption>")
        archive.writestr("a.opf", package)
        archive.writestr("0.xhtml", "<html><body><p>Some words.</p></body></html>")
    assert "Some words." in convert("a.epub", made.getvalue(), "spine").text
