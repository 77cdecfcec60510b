"""First questions: from all over a book, the same each time, and answered by the book."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from booktext import WriteBook
from bythebook import suggestions
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.retrieval.calibration import assess
from bythebook.settings import Settings
from bythebook.suggestions import suggest


@pytest.fixture
async def sample(sample_home: Path) -> AsyncIterator[Library]:
    async with await Library.open(Settings(home=sample_home)) as library:
        yield library


async def test_six_from_all_over_the_sample_book(sample: Library) -> None:
    book = await sample.book()
    found = await suggest(sample, book)
    assert len(found) == 6 and found == await suggest(sample, book)
    pages = []
    for question in found:
        query = SearchQuery(text=question, book_id=book.book_id, hardware_tier_filter=4)
        passages = (await sample.search(query)).passages
        assert assess(passages).should_answer, question
        pages.append(passages[0].metadata.source_file)
    assert pages == sorted(pages), "in reading order"
    assert len({page.partition("/")[0] for page in pages}) >= 3, "from several modules"


async def test_a_large_book_takes_no_longer(
    sample: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggestions, "MOST_PAGES", 8)
    book = await sample.book()
    passages = await suggestions._passages(sample, book)
    pages = list(dict.fromkeys(passage.metadata.source_file for passage in passages))
    assert len(pages) == 8 and len({page.partition("/")[0] for page in pages}) >= 4


async def test_a_book_with_nothing_to_ask(library: Library, write_book: WriteBook) -> None:
    await library.ingest(write_book({"a.md": "Only a few words, and no heading at all."}))
    assert await suggest(library, await library.book()) == ()


async def test_a_heading_on_every_page_is_not_asked(
    library: Library, write_book: WriteBook
) -> None:
    page = "# {0} engines\n\nMany {0} engines are old: {0} engines turn {0} into motion.\n\n"
    care = "## Caring for the machine\n\nOil your {0} engines, and {0} engines last for years."
    kinds = ("steam", "petrol", "diesel")
    await library.ingest(write_book({f"{kind}.md": (page + care).format(kind) for kind in kinds}))
    found = await suggest(library, await library.book())
    assert found and not any("machine" in question for question in found)


async def test_other_languages_keep_their_headings(library: Library, write_book: WriteBook) -> None:
    text = (
        "# Zahnräder und Ketten\n\nZahnräder und Ketten übertragen die Kraft von einer Welle auf "
        "die andere. Ketten müssen geölt werden, Zahnräder müssen genau ineinander greifen."
    )
    other = "# Die Dampfmaschine\n\nDie Dampfmaschine macht aus Wärme Bewegung, mit einem Kolben."
    manifest = '[book]\nlanguage = "de"\n'
    files = {"bythebook.toml": manifest, "raeder.md": text, "dampf.md": other}
    await library.ingest(write_book(files))
    found = await suggest(library, await library.book())
    assert found and set(found) <= {"Zahnräder und Ketten", "Die Dampfmaschine"}


async def test_they_read_as_a_person_would_ask(library: Library, write_book: WriteBook) -> None:
    """What makes no good question stands as a heading, and versions and modules not at all."""
    body = "Here {0} matters: of {0} this section tells all that {0} needs."
    headings = (
        "Installing the program",
        "Virtual environment",
        "Main differences",
        "Links",
        "Version 1.6.0",
        "The build cache",
        "Why is Python 3.12 needed?",
    )
    pages = {
        f"{number}.md": f"# {heading}\n\n{body.format(heading.lower())}\n"
        for number, heading in enumerate(headings)
    }
    pages["changelog.md"] = f"# The old parser\n\n{body.format('the old parser')}\n"
    await library.ingest(write_book(pages))
    assert set(await suggest(library, await library.book())) == {
        "How do I install the program?",
        "Virtual environment",
        "Main differences",
        "What is the build cache?",
        "Why is Python 3.12 needed?",
    }
