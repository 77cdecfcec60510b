"""Public addresses and anchors, by the rules of the tool that publishes the book."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.reading.metadata import Head
from bythebook.reading.placement import page_address, with_anchor
from bythebook.reading.slugs import Anchors, Flavor, explicit_id, plain_heading
from reading.reading_tools import read_folder, read_text, words, write_files

SITE = "https://example.org/docs"


@pytest.mark.parametrize(
    ("file", "head", "expected"),
    [
        ("01-start/02-install.md", Head(), "start/install"),
        ("a/2021-11-post.md", Head(), "a/2021-11-post"),
        ("a/7.0-notes.mdx", Head(), "a/7.0-notes"),
        ("02. Guide/03 - deep.md", Head(), "Guide/deep"),
        ("a/b.md", Head(slug="/top"), "top"),
        ("01-a/b.md", Head(slug="other"), "a/other"),
        ("a/b/c.md", Head(slug="../up"), "a/up"),
        ("intro.md", Head(slug="/"), ""),
        ("a/01-b.md", Head(id="own"), "a/own"),
        ("a/index.md", Head(), "a"),
        ("a/README.md", Head(), "a"),
        ("index.mdx", Head(), ""),
        ("01-intro/01-intro.md", Head(), "intro"),
        ("02-intro/01-intro.md", Head(), "intro/intro"),
        ("a/01-index.md", Head(), "a/index"),
        ("größe/a b.md", Head(), "gr%C3%B6%C3%9Fe/a%20b"),
    ],
)
def test_docusaurus_pages(file: str, head: Head, expected: str) -> None:
    assert page_address(SITE, "docusaurus", file, head) == f"{SITE}/{expected}"


@pytest.mark.parametrize(
    ("flavor", "file", "head", "expected"),
    [
        ("mdbook", "ch01-00-start.md", Head(), "ch01-00-start.html"),
        ("mdbook", "a/README.md", Head(), "a/index.html"),
        ("mkdocs", "a/b.md", Head(), "a/b/"),
        ("mkdocs", "a/index.md", Head(), "a/"),
        ("mkdocs", "README.md", Head(), ""),
        ("mdn", "a/index.md", Head(slug="Web/JavaScript"), "Web/JavaScript"),
        ("plain", "a/b.md", Head(slug="ignored"), "a/b.md"),
    ],
)
def test_other_pages(flavor: Flavor, file: str, head: Head, expected: str) -> None:
    assert page_address(f"{SITE}/", flavor, file, head) == f"{SITE}/{expected}"


def test_an_address_without_a_site_begins_at_its_root() -> None:
    assert page_address("", "plain", "a.md", Head()) == "/a.md"
    assert with_anchor("/a.md", "") == "/a.md"
    assert with_anchor("/a.md", "größe") == "/a.md#gr%C3%B6%C3%9Fe"


@pytest.mark.parametrize(
    ("flavor", "heading", "expected"),
    [
        ("docusaurus", "Hello, World!", "hello-world"),
        ("docusaurus", "C++ & D", "c--d"),
        ("docusaurus", "The `useState()` hook", "the-usestate-hook"),
        ("docusaurus", "[A link](https://a.b) and **bold**", "a-link-and-bold"),
        ("docusaurus", "snake_case_name", "snake_case_name"),
        ("docusaurus", "概要", "概要"),
        ("mdbook", "What's New?", "whats-new"),
        ("mkdocs", "Über  uns!", "uber-uns"),
        ("mdn", "Syntax & use", "syntax_use"),
        ("mdn", "Array.prototype.map()", "array.prototype.map"),
    ],
)
def test_anchors(flavor: Flavor, heading: str, expected: str) -> None:
    assert Anchors(flavor).next(heading) == expected


@pytest.mark.parametrize(
    ("flavor", "expected"),
    [
        ("docusaurus", ["a", "a-1", "a-2", "a-1-1"]),
        ("mkdocs", ["a", "a_1", "a_2", "a-1"]),
        ("mdn", ["a", "a_2", "a_3", "a-1"]),
    ],
)
def test_repeated_headings_are_numbered(flavor: Flavor, expected: list[str]) -> None:
    anchors = Anchors(flavor)
    assert [anchors.next(heading) for heading in ["A", "A", "A", "A-1"]] == expected


def test_an_authors_own_id_is_never_changed() -> None:
    anchors = Anchors("docusaurus")
    assert [anchors.next("A", "x"), anchors.next("B", "x"), anchors.next("X")] == ["x", "x", "x"]
    anchors = Anchors("mkdocs")
    assert [anchors.next("A", "x"), anchors.next("X")] == ["x", "x_1"]


@pytest.mark.parametrize("mark", ["{#own}", "{/* #own */}", "{: #own }", "{ #own .class }"])
def test_explicit_ids(mark: str) -> None:
    assert explicit_id(f"## Title {mark}") == "own"
    assert plain_heading(f"Title {mark}") == "Title"
    assert explicit_id("## A {b} title") is None


def test_chunks_link_to_their_sections() -> None:
    text = "# Title\n\n" + words(120) + "\n\n## One <Badge/>\n\n" + words(120, "b")
    text += "\n\n## One\n\n" + words(120, "c") + "\n\n## Other {/* #own */}\n\n" + words(120, "d")
    text += "\n\n## H<sub>2</sub>O\n\n" + words(120, "e")
    page = read_text(text, "02-water.mdx", "docusaurus")
    root = "https://example.org/water"
    assert page.urls == [root, f"{root}#one", f"{root}#one-1", f"{root}#own", f"{root}#h2o"]
    assert [chunk.metadata.section_title for chunk in page.chunks] == [
        *[None, "One", "One", "Other", "H2O"]
    ]
    assert page.chunks[1].metadata.heading_path == ["Title", "One"]
    assert page.chunks[1].embedded_text.startswith("Title › One\n## One")


def test_a_partial_is_read_on_the_page_that_includes_it(tmp_path: Path) -> None:
    pages = read_folder(
        write_files(
            tmp_path / "guide",
            {
                "a/page.mdx": "import Part from './_part.mdx';\n\n# Page title\n\n<Part />",
                "a/_part.mdx": "The text of the partial.",
            },
        )
    )
    assert pages["a/_part.mdx"].urls == ["/a/page"]
