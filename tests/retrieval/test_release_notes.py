"""Pages that tell what changed are read last, unless changes are asked about."""

from __future__ import annotations

import pytest

from bythebook.retrieval.reranker import ABOUT_CHANGES, is_secondary
from models.samples import passage


@pytest.mark.parametrize(
    ("file", "title", "expected"),
    [
        ("history/hatch.md", "Hatch history", True),
        ("CHANGELOG.md", "Changes", True),
        ("docs/whats-new.rst", "What's new", True),
        ("blog/release-1.0.md", "Hatch 1.0", True),
        ("release-notes/v2.md", "Two", True),
        ("guide/changelog_entries.md", "How to write entries", True),
        ("guide/newsletter.md", "Newsletter", False),
        ("guide/publishing.md", "Publish a package", False),
        ("ref/history_api.md", "The interchange format", True),
        ("guide/exchanges.md", "Exchanges", False),
    ],
)
def test_pages_that_tell_changes(file: str, title: str, expected: bool) -> None:
    assert is_secondary(passage(source_file=file, title=title).metadata) is expected


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
