"""Sizes, merges, overlap: where a page is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.reading.chunking import MAX_TOKENS, MIN_TOKENS, OVERLAP_TOKENS
from bythebook.reading.layout import find_book
from reading.reading_tools import Page, check_page, read_text, words, write_files


def read(*parts: str) -> Page:
    page = read_text("\n\n".join(parts))
    check_page(page)
    return page


def repeated(page: Page) -> list[int]:
    """Tokens at the start of each chunk that the one before it also has."""
    found: list[int] = []
    end = 0
    for chunk in page.chunks:
        spans = chunk.metadata.spans
        again = page.source.text[spans[0].start : max(end, spans[0].start)]
        found.append(int(len(again.split()) * 1.3))
        end = spans[-1].end
    return found


def test_a_section_within_the_maximum_is_one_chunk() -> None:
    page = read("# Title", words(150), "## One", words(380, "a"), "## Two", words(390, "b"))
    assert [chunk.metadata.section_title for chunk in page.chunks] == [None, "One", "Two"]
    assert repeated(page) == [0, 0, 0]


def test_small_sections_merge_and_nothing_is_dropped() -> None:
    page = read("# Title", "Intro.", "## One", words(30, "a"), "## Two", words(30, "b"))
    assert len(page.chunks) == 1
    assert page.text.startswith("# Title")
    assert page.text.endswith("b29.")


def test_an_introduction_goes_with_what_it_introduces() -> None:
    page = read("## One", words(200, "a"), "## Two", "Short.", "### Below", words(200, "b"))
    assert page.texts[1].startswith("## Two\n\nShort.\n\n### Below")


def test_a_bare_heading_stays_with_what_follows() -> None:
    page = read("## One", words(200, "a"), "## Bare", "## Three", words(200, "b"))
    assert page.texts[1].startswith("## Bare\n\n## Three")


def test_a_long_section_is_cut_evenly_with_overlap() -> None:
    paragraphs = [words(50, f"p{n}w") for n in range(20)]
    page = read("## Long", *paragraphs, "## Next", words(150, "x"))
    tokens = [chunk.token_count for chunk in page.chunks]
    assert len(page.chunks) == 5
    assert all(300 <= count <= MAX_TOKENS for count in tokens[:-1])
    overlaps = repeated(page)
    assert overlaps[0] == overlaps[-1] == 0
    assert all(0.7 * OVERLAP_TOKENS <= count <= OVERLAP_TOKENS for count in overlaps[1:-1])
    assert OVERLAP_TOKENS == 60


def test_overlap_begins_with_a_sentence() -> None:
    page = read("## Long", words(1200))
    for before, after in zip(page.texts, page.texts[1:], strict=False):
        first = after.split()[0]
        assert int(first.removeprefix("word")) % 10 == 0
        assert first in before


def test_code_and_tables_are_not_cut() -> None:
    code = "```py\n" + "\n".join(f"value_{n} = {n}" for n in range(110)) + "\n```"
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | x |" for n in range(70))
    page = read("## Long", words(150), code, words(150, "b"), table, words(150, "c"))
    assert any(code in text for text in page.texts)
    assert any(table in text for text in page.texts)


def test_code_longer_than_the_maximum_is_cut_between_lines() -> None:
    lines = [f"value_{n} = {n}" for n in range(600)]
    page = read("```py\n" + "\n".join(lines) + "\n```")
    assert len(page.chunks) > 3
    shown = [
        line for text in page.texts for line in text.splitlines() if not line.startswith("```")
    ]
    assert shown == lines


@pytest.mark.parametrize("before", ["", "> ", "   "])
def test_each_part_of_a_long_table_has_its_head(before: str) -> None:
    head = f"{before}| Option | Default |\n{before}|---|---|\n"
    rows = [f"{before}| `option{n}` | it is {n} unless told |\n" for n in range(200)]
    above = "- An item\n" if before == "   " else "## Options"
    page = read(above, head + "".join(rows), "The end.")
    parts = [text for text in page.texts if "option" in text]
    assert len(parts) > 4
    for part in parts:
        assert part.count("| Option | Default |") == 1
        assert part.index("| Option | Default |") < part.index("|---|---|") < part.index("`option")
    repeated = page.chunks[-1].metadata.spans[0]
    assert page.source.text[repeated.start : repeated.end].strip() == head.strip()


def test_each_part_of_a_long_html_table_has_its_head() -> None:
    head = "<tr>\n<th>Option</th>\n<th>Default</th>\n</tr>\n"
    rows = "".join(f"<tr><td>option{n}</td>\n<td>{words(20, 'd')}</td></tr>\n" for n in range(60))
    page = read("## Options", f"<table>\n{head}{rows}</table>", "The end.")
    parts = [text for text in page.texts if "option" in text]
    assert len(parts) > 2
    assert all(part.count("Option\nDefault") == 1 for part in parts)


def test_a_head_of_one_letter_is_not_repeated() -> None:
    table = f"<table>\n<tr><th>A</th></tr>\n<tr><td>{words(800)}\nz</td></tr>\n</table>"
    page = read("## Letters", table)
    assert len(page.chunks) > 1
    assert not any(text.startswith("A\n") for text in page.texts[1:])


def test_a_head_as_large_as_a_passage_is_not_repeated() -> None:
    cells = " | ".join(f"Column number {n}" for n in range(80))
    rows = "\n".join(f"| value {n} |" for n in range(300))
    page = read("## Wide", f"| {cells} |\n{'|---' * 80}|\n{rows}")
    assert len([text for text in page.texts if "Column number 3" in text]) == 1


def test_a_long_html_table_stays_whole_and_a_list_is_cut_between_items() -> None:
    rows = "\n".join(f"<tr><td>cell {n}</td></tr>" for n in range(120))
    page = read(words(200), f"<table>\n{rows}\n</table>", words(200, "z"))
    assert any("cell 0" in text and "cell 119" in text for text in page.texts)
    page = read("\n".join(f"- item {words(20, f'i{n}w')}" for n in range(60)))
    assert all(text.startswith("- item") for text in page.texts)


def test_link_definitions_after_a_long_list_are_kept() -> None:
    items = "\n".join(f"- {words(60, f'i{n}w')}" for n in range(12))
    read(items, "[a]: https://example.org/" + "x" * 40, "## Next", words(120))


def test_deep_nesting_is_kept() -> None:
    read(":::a\n" * 40 + words(600), "- " * 30 + words(600, "b"), "> " * 30 + words(600, "c"))


def test_text_without_spaces_is_cut_too() -> None:
    page = read("x" * 50_000)
    assert max(chunk.char_count for chunk in page.chunks) <= MAX_TOKENS * 16
    page = read("漢字" * 1000)
    assert len(page.chunks) > 3


def test_identical_passages_have_their_own_ids() -> None:
    code = "```\n" + "\n".join("same line of code" for _ in range(1000)) + "\n```"
    page = read("## A", code)
    hashes = [chunk.metadata.content_hash for chunk in page.chunks]
    assert len(set(hashes)) < len(hashes)


def test_almost_empty_files_are_left_out_with_a_reason() -> None:
    assert read("tiny").document.problems == ("it has only 4 characters of text and was skipped",)
    assert read("").chunks == ()
    assert read("<!-- only a comment, and a long one -->").chunks == ()
    assert len(read("ten chars!").chunks) == 1


def test_only_short_of_the_minimum_where_no_neighbour_has_room() -> None:
    code = "```py\n" + "\n".join(f"value_{n} = {n}" for n in range(129)) + "\n```"
    page = read(code, "A small remark between.", code)
    assert [chunk.token_count < MIN_TOKENS for chunk in page.chunks].count(True) <= 1


def test_a_title_of_the_front_matter_heads_the_path(tmp_path: Path) -> None:
    page = read_text("---\ntitle: Front\n---\n# Heading\n\n" + words(20) + "\n\n## One\n\nText.")
    assert page.chunks[0].metadata.heading_path[0] == "Front"
    assert find_book(write_files(tmp_path, {"a.md": "x"})).files == ("a.md",)
