"""Books, files and jobs on each database; their details are tested on SQLite."""

from __future__ import annotations

from pathlib import Path

from booktext import WriteBook
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.settings import Settings

PAGES = {
    "index.md": "# A Small Book\n\nIt is about nodes and topics, and about nothing else.\n",
    "ch1/nodes.md": "# Nodes\n\n## What a node is\n\nA node is a process that computes.\n",
}


async def test_a_book_is_ingested_once_and_found(
    home: Path, database_url: str, write_book: WriteBook
) -> None:
    book = write_book(PAGES)
    settings = Settings(home=home, database_url=database_url)
    async with await Library.open(settings) as library:
        first = await library.ingest(book, book_id="small")
        assert (first.status, first.files_processed, first.total_files) == ("completed", 2, 2)
    async with await Library.open(settings) as library:
        second = await library.ingest(book, book_id="small")
        assert (second.status, second.files_processed, second.files_skipped) == ("completed", 0, 2)
        assert second.chunks_created == second.chunks_embedded == 0
        assert second.job_id > first.job_id
        jobs = await library.jobs()
        assert [job.job_id for job in jobs] == [second.job_id, first.job_id]
        (known,) = await library.books()
        assert (known.book_id, known.total_files) == ("small", 2)
        found = await library.search(SearchQuery(text="What is a node?", book_id="small"))
        assert found.passages[0].metadata.source_file == "ch1/nodes.md"
        (book / "ch1" / "nodes.md").unlink()
        third = await library.ingest(book, book_id="small")
        assert (third.status, third.files_deleted) == ("completed", 1)
        await library.remove_book("small")
        assert await library.books() == [] and len(await library.jobs()) == 3
