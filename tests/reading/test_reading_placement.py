"""Module, chapter and lesson of each page, and the ids that follow from them."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from bythebook.models.chunk import NAMESPACE
from bythebook.reading.layout import find_book
from reading.reading_tools import Page, check_page, read_folder, write_files

TEXT = "Some text that is long enough.\n"
Place = tuple[str, int, int]


def places(root: Path, files: dict[str, str] | list[str]) -> dict[str, Place]:
    contents = dict.fromkeys(files, TEXT) if isinstance(files, list) else files
    return {file: place(page) for file, page in read(root, contents).items()}


def read(root: Path, files: dict[str, str]) -> dict[str, Page]:
    pages = read_folder(write_files(root, files), "book")
    for page in pages.values():
        check_page(page)
    parents = {chunk.metadata.parent_doc_id for page in pages.values() for chunk in page.chunks}
    ids = [chunk.id for page in pages.values() for chunk in page.chunks]
    assert len(parents) == len(pages)
    assert len(set(ids)) == len(ids)
    return pages


def place(page: Page) -> Place:
    return page.placement.module, page.placement.chapter, page.placement.lesson


def parent_of(page: Page) -> str:
    return page.chunks[0].metadata.parent_doc_id


def uuid_of(string: str) -> str:
    return str(uuid.uuid5(NAMESPACE, string))


def test_the_path_says_it_all(tmp_path: Path) -> None:
    assert places(
        tmp_path,
        [
            "module-2-simulation/README.md",
            "module-2-simulation/chapter-3/README.md",
            "module-2-simulation/chapter-3/02-gazebo.md",
            "module-2-simulation/chapter-3/10-last.md",
            "module-2-simulation/ch04/index.md",
            "README.md",
        ],
    ) == {
        "README.md": ("book", 0, 0),
        "module-2-simulation/README.md": ("simulation", 0, 0),
        "module-2-simulation/chapter-3/README.md": ("simulation", 3, 0),
        "module-2-simulation/chapter-3/02-gazebo.md": ("simulation", 3, 2),
        "module-2-simulation/chapter-3/10-last.md": ("simulation", 3, 10),
        "module-2-simulation/ch04/index.md": ("simulation", 4, 0),
    }


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("ch01-02-hello.md", ("book", 1, 2)),
        ("chapter-3.md", ("book", 3, 0)),
        ("05-notes.md", ("book", 0, 5)),
        ("part-1/07-x.md", ("part-1", 0, 7)),
        ("01-intro/02-deep/03-x.md", ("intro", 2, 3)),
        ("a/2021-11-post.md", ("a", 0, 1)),
        ("A & B/x.md", ("a-b", 0, 1)),
    ],
)
def test_other_ways_to_write_numbers(tmp_path: Path, file: str, expected: Place) -> None:
    assert places(tmp_path, [file]) == {file: expected}


def test_a_book_without_numbers_is_counted_in_order(tmp_path: Path) -> None:
    assert places(tmp_path, ["b.md", "a.md", "x/q/two.md", "x/q/one.md", "x/p/one.md"]) == {
        "a.md": ("book", 0, 1),
        "b.md": ("book", 0, 2),
        "x/p/one.md": ("x", 1, 1),
        "x/q/one.md": ("x", 2, 1),
        "x/q/two.md": ("x", 2, 2),
    }


def test_numbers_from_order_leave_out_those_in_use(tmp_path: Path) -> None:
    found = places(tmp_path, ["m/c1/01-a.md", "m/c1/b.md", "m/chapter-1/x.md", "m/other/x.md"])
    assert found["m/c1/b.md"] == ("m", 2, 2)
    assert found["m/chapter-1/x.md"] == ("m", 1, 1)
    assert found["m/other/x.md"] == ("m", 3, 1)


def test_front_matter_overrides_the_path(tmp_path: Path) -> None:
    head = "---\nmodule: own\nchapter: 7\nlesson: '8'\n---\n"
    assert places(tmp_path, {"m/chapter-1/01-a.md": head + TEXT}) == {
        "m/chapter-1/01-a.md": ("own", 7, 8)
    }


def test_the_manifest_overrides_front_matter(tmp_path: Path) -> None:
    files = {
        "bythebook.toml": "[modules]\n'module-1/' = 'ros2'\n'module-1/deep' = 'vla'\n",
        "module-1/01-a.md": "---\nmodule: own\n---\n" + TEXT,
        "module-1/deep/01-b.md": TEXT + "b",
    }
    found = places(tmp_path, files)
    assert found["module-1/01-a.md"][0] == "ros2"
    assert found["module-1/deep/01-b.md"][0] == "vla"


def test_the_manifest_gives_title_site_and_defaults(tmp_path: Path) -> None:
    manifest = (
        "[book]\nid = 'own-id'\ntitle = 'Own'\nbase_url = 'https://a.b/c/'\nlanguage = 'de'\n"
        "docs = 'pages'\nflavor = 'mkdocs'\n[defaults]\nhardware_tier = 3\nlayer = 'L2'\n"
    )
    write_files(tmp_path, {"bythebook.toml": manifest, "pages/x.md": TEXT, "other.md": TEXT})
    book = find_book(tmp_path)
    assert (book.book_id, book.title, book.language) == ("own-id", "Own", "de")
    [page] = read_folder(tmp_path).values()
    metadata = page.chunks[0].metadata
    assert (metadata.hardware_tier, metadata.proficiency_level, metadata.layer) == (3, "A2", "L2")
    assert metadata.url == "https://a.b/c/x/"


def test_ids_of_numbered_and_unnumbered_pages(tmp_path: Path) -> None:
    pages = read(tmp_path, {"m/chapter-1/01-a.md": TEXT, "m/chapter-1/b.md": TEXT})
    numbered, unnumbered = pages["m/chapter-1/01-a.md"], pages["m/chapter-1/b.md"]
    assert parent_of(numbered) == uuid_of("book:m:1:1:parent")
    assert parent_of(unnumbered) == uuid_of("book:m:1:2:m/chapter-1/b:parent")
    content_hash = unnumbered.chunks[0].metadata.content_hash
    assert unnumbered.chunks[0].id == uuid_of(f"book:m:1:2:{content_hash[:16]}")


def test_pages_of_one_number_are_told_apart(tmp_path: Path) -> None:
    files = {"m/01-a.md": TEXT, "m/01-b.md": TEXT, "m/01-b.mdx": TEXT, "m/index.md": TEXT}
    pages = read(tmp_path, {**files, "m/README.md": TEXT})
    assert parent_of(pages["m/01-a.md"]) == uuid_of("book:m:0:1:parent")
    assert parent_of(pages["m/01-b.md"]) == uuid_of("book:m:0:1:m/01-b.md:parent")
    assert place(pages["m/01-b.mdx"]) == ("m", 0, 1)
    assert place(pages["m/README.md"]) == place(pages["m/index.md"]) == ("m", 0, 0)


def test_titles_of_chapters(tmp_path: Path) -> None:
    pages = read(
        tmp_path,
        {
            "m/chapter-1/README.md": "# The first chapter\n\n" + TEXT,
            "m/chapter-1/01-a.md": "# Lesson\n\n" + TEXT,
            "m/02-second-thing/01-a.md": TEXT,
            "alone.md": "---\ntitle: Alone\n---\n" + TEXT,
        },
    )
    titles = {file: page.placement.chapter_title for file, page in pages.items()}
    assert titles["m/chapter-1/01-a.md"] == "The first chapter"
    assert titles["m/02-second-thing/01-a.md"] == "Second thing"
    assert titles["alone.md"] == "Alone"


def test_docusaurus_order(tmp_path: Path) -> None:
    pages = read(
        tmp_path,
        {
            "a/_category_.json": '{"position": 2}',
            "a/x/page.mdx": TEXT,
            "b/_category_.yml": "label: B\nposition: 1\n",
            "b/x/page.md": TEXT,
            "c/_category_.json": "[broken",
            "c/two.md": "---\nsidebar_position: 1.5\n---\n" + TEXT,
            "c/one.md": "---\nsidebar_position: 2\n---\n" + TEXT,
            "c/nowhere.md": TEXT,
        },
    )
    assert list(pages) == ["b/x/page.md", "a/x/page.mdx", "c/two.md", "c/one.md", "c/nowhere.md"]


SUMMARY = """# Summary

[Foreword](foreword.md)

- [One](one.md)
    - [Deep `[T]`](one/deep.md)
        - [Deeper](./one/deeper.md#part)
- [Two](<two words.md>)

# Part of *more*

- [Draft]()
- [Three](three%20words.md)
- [One again](one.md)
- [Missing](missing.md)

[Afterword](afterword.md)
"""


def test_mdbook(tmp_path: Path) -> None:
    names = ["foreword", "one", "one/deep", "one/deeper", "two words", "three words", "afterword"]
    files = {f"src/{name}.md": TEXT for name in [*names, "unlisted"]}
    config = "[book]\ntitle = 'Rust'\n"
    pages = read(tmp_path, {**files, "src/SUMMARY.md": SUMMARY, "book.toml": config})
    assert {file.removesuffix(".md"): place(page) for file, page in pages.items()} == {
        "foreword": ("book", 0, 1),
        "one": ("book", 1, 0),
        "one/deep": ("book", 1, 1),
        "one/deeper": ("book", 1, 2),
        "two words": ("book", 2, 0),
        "three words": ("part-of-more", 3, 0),
        "afterword": ("part-of-more", 0, 1),
    }
    assert pages["one/deep.md"].urls == ["/one/deep.html"]
    assert pages["one.md"].book.title == "Rust"
    assert pages["one.md"].book.problems == (
        "unlisted.md is not in SUMMARY.md, so mdBook does not publish it",
    )


def test_mdbook_parts_without_a_title_of_the_summary(tmp_path: Path) -> None:
    summary = "[Foreword](a.md)\n\n# Part one\n\n- [B](b.md)\n"
    pages = read(tmp_path, {"SUMMARY.md": summary, "a.md": TEXT, "b.md": TEXT})
    assert [place(page) for page in pages.values()] == [("book", 0, 1), ("part-one", 1, 0)]


def test_mkdocs(tmp_path: Path) -> None:
    config = """
site_name: The docs
site_url: https://example.org/guide/
nav:
  - Second: b.md
  - Section:
      - deep/c.md
      - Elsewhere: https://example.org
  - a.md
markdown_extensions:
  - pymdownx.emoji:
      emoji_index: !!python/name:material.extensions.emoji.twemoji
      own: !ENV [A, b]
"""
    names = ["a", "b", "deep/c", "unlisted", "index"]
    pages = read(tmp_path, {"mkdocs.yml": config, **{f"docs/{name}.md": TEXT for name in names}})
    assert list(pages) == ["b.md", "deep/c.md", "a.md", "index.md", "unlisted.md"]
    assert pages["deep/c.md"].urls == ["https://example.org/guide/deep/c/"]
    assert pages["index.md"].urls == ["https://example.org/guide/"]
    assert pages["a.md"].book.title == "The docs"


@pytest.mark.parametrize(
    ("files", "flavor"),
    [
        ({"docusaurus.config.js": "", "docs/a.md": TEXT}, "docusaurus"),
        ({"a.mdx": TEXT}, "docusaurus"),
        ({"a.md": f"---\ntitle: A\npage-type: guide\n---\n{TEXT}"}, "mdn"),
        ({"a.md": TEXT}, "plain"),
        ({"SUMMARY.md": "- [A](a.md)", "a.md": TEXT}, "mdbook"),
        ({"mkdocs.yaml": "", "a.md": TEXT}, "mkdocs"),
        ({"book.toml": "book = 3", "a.md": TEXT}, "mdbook"),
        ({"mkdocs.yml": "site_name: 5\nsite_url: 6\ndocs_dir: []\nnav: 7", "a.md": TEXT}, "mkdocs"),
    ],
)
def test_what_made_the_book(tmp_path: Path, files: dict[str, str], flavor: str) -> None:
    [page] = read(tmp_path, files).values()
    assert page.book.flavor == flavor
    assert page.book.files == ("a.md",) or page.book.files == ("a.mdx",)


@pytest.mark.parametrize(
    ("folder", "book_id", "title"),
    [
        ("My Book (2nd)/docs", "my-book-2nd", "My Book (2nd)"),
        ("physical-ai", "physical-ai", "Physical ai"),
        ("机器人", "book", "机器人"),
    ],
)
def test_a_book_is_named_after_its_folder(
    tmp_path: Path, folder: str, book_id: str, title: str
) -> None:
    book = find_book(write_files(tmp_path / folder, {"a.md": TEXT}))
    assert (book.book_id, book.title) == (book_id, title)


@pytest.mark.parametrize(
    ("folder", "files", "book_id", "title"),
    [
        *[
            (f"Red Pumps/{name}", {}, "red-pumps", "Red Pumps")
            for name in ("book", "docs", "Source", "documentation", "website/docs", "doc/source")
        ],
        ("p/docs", {"../mkdocs.yml": "site_name: Fast Pumps\n"}, "fast-pumps", "Fast Pumps"),
        ("p/book", {"book.toml": "[book]\ntitle = 'The Pump'\n"}, "the-pump", "The Pump"),
        (
            "p/website/docs",
            {
                "../docusaurus.config.ts": "const config = {\n  themeConfig: {\n    navbar: {\n"
                "      title: 'Menu',\n    },\n  },\n  title: 'Pump Works',\n};\n"
            },
            "pump-works",
            "Pump Works",
        ),
        ("p/doc", {"conf.py": 'project = "scikit-pump"\n'}, "scikit-pump", "scikit-pump"),
        ("p/docs/source", {"../conf.py": "project = 'P 2'\n"}, "p-2", "P 2"),
        ("p/docs", {"conf.py": "project = name()\n"}, "p", "P"),
        # The title is a title, and a folder that says something is the id.
        ("my-pumps", {"conf.py": "project = 'Pumps'\n"}, "my-pumps", "Pumps"),
        # Letters of which no id can be made.
        ("p/docs", {"conf.py": "project = '机器人'\n"}, "p", "机器人"),
        ("p/docs", {"bythebook.toml": "[book]\nid = 'own'\ntitle = 'Own'\n"}, "own", "Own"),
    ],
)
def test_a_folder_that_any_project_may_have_is_named_after_its_project(
    tmp_path: Path, folder: str, files: dict[str, str], book_id: str, title: str
) -> None:
    book = find_book(write_files(tmp_path / folder, {"a.md": TEXT, **files}))
    assert (book.book_id, book.title) == (book_id, title)


def test_a_title_is_not_read_through_a_link(tmp_path: Path) -> None:
    write_files(tmp_path, {"secret.py": "project = 'Secret'\n", "p/docs/a.md": TEXT})
    (tmp_path / "p/docs/conf.py").symlink_to(tmp_path / "secret.py")
    assert find_book(tmp_path / "p/docs").title == "P"
