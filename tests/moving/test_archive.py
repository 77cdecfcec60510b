"""A book as one file: what comes out is what went in, and what was damaged does not get in."""

from __future__ import annotations

import json
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from booktext import WriteBook
from bythebook.errors import BookError, ConfigurationError, InputError
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.moving.archive import BOOK, FILES, POINTS, VECTORS, export_book, import_book
from bythebook.settings import Settings
from invariants import check_invariants, content_of

PAGES = {
    f"part-{n}.md": f"# Part {n}\n\n" + f"Valve {n} opens when pressure {n} is reached. " * 8
    for n in range(6)
}


@pytest.fixture
async def exported(library: Library, write_book: WriteBook, tmp_path: Path) -> Path:
    await library.ingest(write_book(PAGES), book_id="valves")
    await export_book(library, "valves", tmp_path / "valves.btb")
    return tmp_path / "valves.btb"


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Library]:
    async with await Library.open(Settings(home=tmp_path / "other")) as opened:
        yield opened


async def test_a_book_arrives_whole(library: Library, other: Library, exported: Path) -> None:
    manifest = await import_book(other, exported)
    assert other.embedder.texts_embedded == 0
    assert manifest.files == len(PAGES)
    assert await content_of(other, "valves") == await content_of(library, "valves")
    await check_invariants(other, "valves")
    query = SearchQuery(text="When does valve 3 open?", book_id="valves", hardware_tier_filter=4)
    here, there = (await library.search(query)), (await other.search(query))
    assert [p.id for p in here.passages] == [p.id for p in there.passages]
    assert [p.score for p in here.passages] == pytest.approx([p.score for p in there.passages])
    one, two = (await library.book("valves")), (await other.book("valves"))
    assert one == two


async def test_what_was_imported_is_up_to_date(
    other: Library, exported: Path, tmp_path: Path
) -> None:
    await import_book(other, exported)
    job = await other.ingest(tmp_path / "book", book_id="valves")
    assert (job.files_processed, job.chunks_embedded) == (0, 0)


async def test_a_book_that_is_there_is_replaced_only_when_told(
    other: Library, exported: Path, write_book: WriteBook, tmp_path: Path
) -> None:
    await import_book(other, exported)
    with pytest.raises(InputError, match="already"):
        await import_book(other, exported)
    await import_book(other, exported, replace=True)
    assert (await other.book("valves")).total_files == len(PAGES)


async def test_an_export_does_not_overwrite(library: Library, exported: Path) -> None:
    before = exported.read_bytes()
    with pytest.raises(InputError, match="there already"):
        await export_book(library, "valves", exported)
    assert exported.read_bytes() == before


def changed(file: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """The file with one part changed, its digests as they were."""
    new = file.with_suffix(".changed")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(new, "w") as archive:
        for entry in old.namelist():
            data = old.read(entry)
            archive.writestr(entry, change(data) if entry == name else data)
    return new


def other_book(data: bytes) -> bytes:
    document = json.loads(data)
    document["book"]["book_id"] = "another"
    return json.dumps(document).encode()


def other_dimension(data: bytes) -> bytes:
    document = json.loads(data)
    document["book"]["dimension"] = 3
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (POINTS, lambda data: data.replace(b"Valve 3", b"Valve 4")),
        (POINTS, lambda data: data[: len(data) // 2]),
        (VECTORS, lambda data: data[:-4]),
        (FILES, lambda _data: b"{}\n"),
        (BOOK, lambda _data: b"no json"),
        (BOOK, other_book),
        (BOOK, other_dimension),
        (BOOK, lambda data: data.replace(b'"format": 1', b'"format": 2')),
    ],
)
async def test_what_was_damaged_does_not_get_in(
    other: Library, exported: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    with pytest.raises(BookError) as problem:
        await import_book(other, changed(exported, name, change))
    assert problem.value.action
    assert await other.books() == []
    assert await content_of(other, "valves") == {}


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"nothing of the kind" * 100])
async def test_a_file_of_another_kind(other: Library, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "some.btb").write_bytes(data)
    with pytest.raises(InputError, match="not a complete export"):
        await import_book(other, tmp_path / "some.btb")
    with pytest.raises(InputError, match="no file"):
        await import_book(other, tmp_path / "none.btb")


async def test_another_embedder_is_refused(exported: Path, tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path / "other", embedder="openai", openai_api_key=SecretStr("sk-" + "a" * 40)
    )
    async with await Library.open(settings) as other:
        with pytest.raises(ConfigurationError, match="embedder here is"):
            await import_book(other, exported)
