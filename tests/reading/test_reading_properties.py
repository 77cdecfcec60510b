"""Rules that hold for every document, tried on documents nobody would think of."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bythebook.models.chunk import tokens_of_words
from bythebook.reading.blocks import Block, split_sections
from bythebook.reading.chunking import (
    CRUMB_TOKENS,
    MAX_TOKENS,
    MIN_TOKENS,
    Cut,
    TokenCounter,
    cut_sections,
)
from bythebook.reading.slugs import Flavor
from extent import examples
from reading.markdown_strategies import markdown, noise
from reading.reading_tools import Page, check_page, read_text, words

FLAVORS: list[Flavor] = ["plain", "docusaurus", "mdbook", "mkdocs", "mdn"]
moderate = settings(
    max_examples=examples(120),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def cut(page: Page) -> tuple[list[Cut], TokenCounter]:
    sections = split_sections(page.parsed.blocks, page.placement.title, page.book.flavor)
    return cut_sections(sections, page.parsed.masked), TokenCounter(page.parsed.masked)


@moderate
@given(markdown(), st.sampled_from(FLAVORS))
@example("", "plain")
@example("short", "plain")
@example("x" * 100_000, "plain")
@example("a " + "x" * 8193 + " b", "plain")
@example("## " + "漢" * 2000, "docusaurus")
@example("a\n\n    ```mdx-code-block\n    ```", "plain")
def test_every_rule_holds_for_documents(text: str, flavor: Flavor) -> None:
    check_page(read_text(text, flavor=flavor))


@moderate
@given(noise, st.sampled_from(FLAVORS))
def test_every_rule_holds_for_any_text(text: str, flavor: Flavor) -> None:
    if "\0" not in text:
        check_page(read_text(text, flavor=flavor))


@settings(moderate, max_examples=examples(30))
@given(markdown())
def test_the_same_input_gives_the_same_chunks(text: str) -> None:
    first, second = read_text(text), read_text(text)
    ignored = {"metadata": {"created_at", "updated_at"}}
    assert [chunk.model_dump(exclude=ignored) for chunk in first.chunks] == [
        chunk.model_dump(exclude=ignored) for chunk in second.chunks
    ]


@moderate
@given(markdown(), st.sampled_from(FLAVORS))
def test_passages_tile_the_file(text: str, flavor: Flavor) -> None:
    page = read_text(text, flavor=flavor)
    passages, counter = cut(page)
    edges = [(p.core, p.units[-1].end) for p in passages]
    assert [end for _, end in edges[:-1]] == [start for start, _ in edges[1:]]
    for passage in passages:
        assert passage.start <= passage.core
        assert counter.tokens(passage.core, passage.units[-1].end) <= MAX_TOKENS


@moderate
@given(markdown(), st.sampled_from(FLAVORS))
def test_a_small_passage_has_no_neighbour_that_could_take_it(text: str, flavor: Flavor) -> None:
    """Under the minimum without its repeated text, it does not fit whole into either neighbour."""
    passages, counter = cut(read_text(text, flavor=flavor))
    for index, passage in enumerate(passages):
        start, end = passage.core, passage.units[-1].end
        if counter.tokens(start, end) >= MIN_TOKENS:
            continue
        if index > 0:
            assert counter.tokens(passages[index - 1].core, end) > MAX_TOKENS
        if index + 1 < len(passages):
            assert counter.tokens(start, passages[index + 1].units[-1].end) > MAX_TOKENS


def whole_blocks(blocks: tuple[Block, ...]) -> list[Block]:
    """Headings, code, tables and maths, also those inside lists and admonitions."""
    return [
        found
        for block in blocks
        for found in (whole_blocks(block.children) if block.children else [block])
        if found.kind in ("heading", "verbatim")
    ]


@moderate
@given(markdown(), st.sampled_from(FLAVORS))
def test_headings_code_and_tables_stay_whole(text: str, flavor: Flavor) -> None:
    page = read_text(text, flavor=flavor)
    passages, counter = cut(page)
    for block in whole_blocks(page.parsed.blocks):
        if counter.tokens(block.start, block.end) <= MAX_TOKENS:
            assert any(
                passage.core <= block.start and block.end <= passage.units[-1].end
                for passage in passages
            )


@moderate
@given(markdown(), st.sampled_from(FLAVORS))
def test_a_passage_ends_with_a_heading_only_where_the_text_below_does_not_fit(
    text: str, flavor: Flavor
) -> None:
    """That is: the two are too long for one, and a cut between the units below would leave a part
    under the minimum."""
    passages, counter = cut(read_text(text, flavor=flavor))
    for passage, following in pairwise(passages):
        heading, units = passage.units[-1], following.units
        if heading.kind != "heading":
            continue
        assert counter.tokens(heading.start, units[-1].end) > MAX_TOKENS
        for above, below in pairwise(units):
            parts = (
                counter.tokens(heading.start, above.end),
                counter.tokens(below.start, units[-1].end),
            )
            assert min(parts) < MIN_TOKENS or max(parts) > MAX_TOKENS


section_sizes = st.lists(
    st.one_of(st.integers(1, 70), st.integers(80, 390), st.integers(400, 1500)),
    min_size=3,
    max_size=12,
)


def document_of(sizes: list[int]) -> str:
    return "\n\n".join(
        f"## Section {number}\n\n" + "\n\n".join(paragraphs(number, size))
        for number, size in enumerate(sizes)
    )


def paragraphs(number: int, size: int) -> list[str]:
    return [words(min(40, size - first), f"s{number}p{first}w") for first in range(0, size, 40)]


@settings(moderate, max_examples=examples(60))
@given(section_sizes, st.data())
def test_an_edit_changes_only_its_own_surroundings(sizes: list[int], data: st.DataObject) -> None:
    """Between two sections that both have the minimum and fit the maximum there is always a cut,
    so an edit never changes a chunk beyond such a place."""
    edited = data.draw(st.integers(0, len(sizes) - 1))
    new_size = data.draw(st.integers(1, 1500))
    before = read_text(document_of(sizes))
    after = read_text(document_of([*sizes[:edited], new_size, *sizes[edited + 1 :]]))

    def stands_alone(number: int) -> bool:
        tokens = tokens_of_words(sizes[number] + 3)
        return number != edited and MIN_TOKENS + 2 <= tokens <= MAX_TOKENS

    fixed = [n for n in range(1, len(sizes)) if stands_alone(n - 1) and stands_alone(n)]
    low = max((n for n in fixed if n <= edited), default=0)
    high = min((n for n in fixed if n > edited), default=len(sizes))

    def far(page: Page) -> list[str]:
        return [
            chunk.id
            for chunk in page.chunks
            if not any(f"s{number}p" in chunk.text for number in range(low, high))
        ]

    assert far(before) == far(after)
    if before.source.text != after.source.text:
        assert [chunk.id for chunk in before.chunks] != [chunk.id for chunk in after.chunks]


@pytest.mark.parametrize(
    "text",
    [
        *["<" * 200_000, "{{" * 100_000, "`" * 200_000, "[" * 200_000, "`a` " * 10_000],
        *["# " + "[a](" * 5_000, "# a" + " " * 50_000 + "b", "# " + "{#a" * 5_000],
        *["> " * 20_000, "- " * 20_000, ":::a\n" * 2_000, "x" * 1_000_000, "漢" * 20_000],
        *["{{a" + " " * 100_000, "<a x={" * 1_000, "<!-- a\n" * 5_000, "<script>" * 5_000],
        *["<b>a</b>" * 3_000, "<table>x</table>\n\n" * 1_000, "{{a('b')}} " * 3_000],
        *["export const a = " + "{" * 20_000, "export const a = {\n\n" * 500, "$$ a\n" * 2_000],
        *["## a\n\n" * 1_000, "a\n\n" * 1_500, "\u2003\n\n" * 1_500, "[a]: b\n" * 1_500],
        *["export const a = " + "{/*" * 3_000, "<!--\n```\n" * 1_000, "a\n=\n" * 500],
    ],
    ids=lambda text: repr(text[:12]),
)
@pytest.mark.parametrize("flavor", ["plain", "docusaurus"])
def test_monsters_are_read(text: str, flavor: Flavor) -> None:
    """Each of these once took time that grew with the square of its length, or could have."""
    check_page(read_text(text, flavor=flavor))


def test_crumbs_are_smaller_than_the_minimum() -> None:
    assert 2 * CRUMB_TOKENS < MIN_TOKENS
