"""A second run sees the book as the first did; what changed meanwhile ends as in a fresh index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import update

from booktext import WriteBook, lesson, section, unpack
from bythebook.database.tables import files as file_table
from bythebook.ingestion.plan import Plan, make_plan, noted_placement
from bythebook.library import Library
from bythebook.models.chunk import CHUNKER_VERSION, now
from bythebook.models.job import IngestionJob, IngestionRecord, IngestionState
from bythebook.models.values import IngestionMode
from bythebook.reading.layout import Book, find_book
from bythebook.reading.source import hash_bytes, read_bytes
from invariants import check_invariants, content_of, fresh_content

BOOKS = Path(__file__).parents[3] / "shared" / "data" / "books"
MAX_BYTES = 20_000_000
MANIFEST = '[book]\nid = "small"\n'


def ordered_book() -> dict[str, str]:
    """The page that comes last by its name comes first by its front matter."""
    return {
        "bythebook.toml": MANIFEST,
        "guide/basics/alpha.mdx": lesson("Alpha", section("Nodes", "nodes")),
        "guide/basics/beta.mdx": lesson("Beta", section("Topics", "topics")),
        "guide/basics/zeta.mdx": lesson("Zeta", section("Wheels", "wheels"), front="lesson: 1"),
    }


def with_front(front: str) -> dict[str, str]:
    files = ordered_book()
    last = "guide/basics/zeta.mdx"
    return {**files, last: files[last].replace("lesson: 1", front)}


@pytest.mark.parametrize("front", ["sidebar_position: 0", "chapter: 0", "lesson: 0"])
async def test_a_second_run_does_nothing(
    library: Library, write_book: WriteBook, front: str
) -> None:
    book = write_book(with_front(front))
    await library.ingest(book)
    before = await content_of(library, "small")
    again = await library.ingest(book)
    assert (again.files_processed, again.chunks_created, again.chunks_deleted) == (0, 0, 0)
    assert await content_of(library, "small") == before


async def test_a_page_that_says_zero_keeps_its_place_when_others_change(
    library: Library, write_book: WriteBook, tmp_path: Path
) -> None:
    await library.ingest(write_book(with_front("sidebar_position: 0")))
    book = write_book({"guide/basics/gamma.mdx": lesson("Gamma", section("Actions", "actions"))})
    job = await library.ingest(book)
    assert (job.files_processed, job.chunks_created, job.chunks_deleted) == (1, 1, 0)
    await check_invariants(library, "small")
    assert await content_of(library, "small") == await fresh_content(book, tmp_path / "other")


@pytest.mark.parametrize("mode", ["incremental", "full", "recreate"])
async def test_heads_kept_without_their_zeros_are_read_again(
    library: Library, write_book: WriteBook, tmp_path: Path, mode: IngestionMode
) -> None:
    """Early versions left them out, and numbered the pages anew in the second run."""
    book = write_book(with_front("sidebar_position: 0"))
    await library.ingest(book)
    async with library.engine.begin() as connection:
        await connection.execute(update(file_table).values(head={"title": "Kept"}))
    await library.ingest(book, mode=mode)
    assert await content_of(library, "small") == await fresh_content(book, tmp_path / "other")
    assert (await library.ingest(book)).files_processed == 0


@pytest.mark.parametrize(
    "table",
    [
        "[defaults]\nhardware_tier = 4\n",
        "[defaults]\nlayer = 'L3'\n",
        "language = 'de'\n",
        "flavor = 'mkdocs'\n",
    ],
)
async def test_a_changed_manifest_reaches_unchanged_files(
    library: Library, write_book: WriteBook, tmp_path: Path, table: str
) -> None:
    await library.ingest(write_book(ordered_book()))
    book = write_book({"bythebook.toml": MANIFEST + table})
    job = await library.ingest(book)
    assert (job.files_processed, job.chunks_embedded) == (3, 0)
    assert await content_of(library, "small") == await fresh_content(book, tmp_path / "other")
    assert (await library.ingest(book)).files_processed == 0


async def test_a_file_saved_while_the_ingest_runs_is_caught_up_with(
    library: Library, write_book: WriteBook, tmp_path: Path
) -> None:
    book = write_book(with_front("lesson: 7"))
    last = book / "guide/basics/zeta.mdx"

    def save_meanwhile(_job: IngestionJob) -> None:
        last.write_text(last.read_text().replace("lesson: 7", "lesson: 8"))

    await library.ingest(book, on_progress=save_meanwhile)
    await library.ingest(book)
    assert await content_of(library, "small") == await fresh_content(book, tmp_path / "other")
    assert (await library.ingest(book)).files_processed == 0


def plan_again(book: Book) -> Plan:
    """The plan of a second run, from what a first one would have noted of each file."""
    state = IngestionState(book_id=book.book_id, collection_name="none")
    first = make_plan(book, state, "incremental", MAX_BYTES)
    for file, placement in first.placements.items():
        state.records[file] = IngestionRecord(
            source_file=file,
            file_hash=hash_bytes(read_bytes(book.root, file, MAX_BYTES)),
            chunk_ids=[],
            chunk_count=0,
            ingested_at=now(),
            book_id=book.book_id,
            module=placement.module,
            chapter=placement.chapter,
            lesson=placement.lesson,
            parent_doc_id="",
            url=placement.url,
            chunker_version=CHUNKER_VERSION,
            head=json.loads(json.dumps(first.heads[file].to_json())),
            placement=json.loads(json.dumps(noted_placement(book, placement))),
        )
    return make_plan(book, state, "incremental", MAX_BYTES)


@pytest.mark.parametrize(
    "front",
    [
        "sidebar_position: 0.0",
        "sidebar_position: -0.5",
        "sidebar_position: false",
        "sidebar_position: -.inf",
        "sidebar_position: 0x" + "f" * 5000,
        "lesson: 2",
        "slug: /",
        "id: 0",
        "title: 0",
        "module: 0",
        "page-type: guide",
        "title: Zeta\n---\nimport Part from './_part.mdx'\n---",
    ],
)
def test_no_front_matter_needs_a_second_look(write_book: WriteBook, front: str) -> None:
    plan = plan_again(find_book(write_book(with_front(front))))
    assert plan.nothing_to_do, plan.process


@pytest.mark.parametrize("name", ["docusaurus-docs", "mdn-javascript"])
def test_a_real_book_needs_no_second_look(tmp_path: Path, name: str) -> None:
    archive = BOOKS / f"{name}.tar.xz"
    if not archive.exists():
        pytest.skip(f"{archive.name} is not here")
    unpack(archive, tmp_path)
    plan = plan_again(find_book(tmp_path, "book"))
    assert plan.nothing_to_do, plan.process
