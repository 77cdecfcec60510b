"""Pages about changes and for contributors are read last, unless they are asked about."""

from __future__ import annotations

import pytest

from booktext import WriteBook
from bythebook import Assistant, Library
from bythebook.retrieval.reranker import ABOUT_CHANGES, ABOUT_CONTRIBUTING, is_secondary
from models.samples import passage

ASKED = "How do I retry a failed task?"


@pytest.mark.parametrize(
    ("file", "title", "expected"),
    [
        ("HISTORY.md", "Hatch history", True),
        ("history/changelog-5.7.rst", "Change history", True),
        ("history/rome.md", "The fall of Rome", False),
        ("physics/phase-changes.md", "Phase changes", False),
        ("handbook.pdf", "Company history", False),
        ("hacking/sql-injection.md", "SQL injection", False),
        ("governance/board.md", "The board", False),
        ("CHANGELOG.md", "Changes", True),
        ("docs/whats-new.rst", "What's new", True),
        ("blog/release-1.0.md", "Hatch 1.0", True),
        ("release-notes/v2.md", "Two", True),
        ("guide/changelog_entries.md", "How to write entries", True),
        ("CONTRIBUTING.md", "Contributing", True),
        ("community/contribute.rst", "Help us", True),
        ("guide/newsletter.md", "Newsletter", False),
        ("guide/publishing.md", "Publish a package", False),
        ("ref/history_api.md", "The interchange format", False),
        ("guide/exchanges.md", "Exchanges", False),
    ],
)
def test_pages_beside_the_subject(file: str, title: str, expected: bool) -> None:
    assert is_secondary(passage(source_file=file, title=title), ASKED) is expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What changed in version 3?", True),
        ("What's new in 2.0?", True),
        ("Since when is there a dark mode?", True),
        ("How do I upgrade from 1.x?", True),
        ("How do I change the port?", False),
        ("How do I start a new project?", False),
        ("Which Python versions are supported?", False),
    ],
)
def test_questions_about_changes(question: str, expected: bool) -> None:
    assert bool(ABOUT_CHANGES.search(question)) is expected
    assert is_secondary(passage(source_file="CHANGELOG.md"), question) is not expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How can I contribute a translation?", True),
        ("How do I open a pull request?", True),
        ("Who are the maintainers?", True),
        ("How do I install it?", False),
        ("Which functions contribute most to the result of the pull?", True),
    ],
)
def test_questions_about_contributing(question: str, expected: bool) -> None:
    assert bool(ABOUT_CONTRIBUTING.search(question)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# celery.bin.celery", True),
        ("## Pools\n\nMoved.", True),
        ("## Pools\n\nA pool keeps some connections open.", False),
        ("```\npip install -U robots and their arms\n```", False),
    ],
)
def test_a_passage_that_only_names_something(text: str, expected: bool) -> None:
    assert is_secondary(passage(text=text), ASKED) is expected


@pytest.mark.usefixtures("with_reader")
async def test_release_notes_take_no_places(library: Library, write_book: WriteBook) -> None:
    """Ten releases mention the words of the question more often than the guide does."""
    notes = {
        f"changelog/{n}.md": f"# Release {n}\n\n- A failed task can retry: task retry {n} of a "
        f"failed task is logged.\n- Retry of a task that failed no longer fails.\n"
        for n in range(10)
    }
    guide = {
        "guide.md": "# Tasks that go wrong\n\nCall `self.retry()` in the task to run it again "
        "after it has failed. It waits three minutes before it does.\n"
    }
    book = write_book({**notes, **guide})
    await library.ingest(book, book_id="queue")
    async with Assistant(library) as assistant:
        answer = await assistant.ask(ASKED, book_id="queue")
        asked_about = await assistant.ask("What changed in release 3?", book_id="queue")
    assert answer.citations[0].passage.metadata.source_file == "guide.md"
    assert "self.retry()" in answer.text
    assert all(one.metadata.source_file != "guide.md" for one in asked_about.passages[:1])
