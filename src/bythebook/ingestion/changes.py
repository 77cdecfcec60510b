"""What an ingest would do to a book, without doing it."""

from __future__ import annotations

from bythebook.errors import ConfigurationError
from bythebook.ingestion.plan import make_plan
from bythebook.ingestion.stamp import check_stamp
from bythebook.models.book import BookInfo
from bythebook.models.changes import BookChanges
from bythebook.models.state import IngestionState
from bythebook.reading.layout import Book


def find_changes(
    book: Book,
    state: IngestionState,
    known: BookInfo | None,
    *,
    embedding_model: str,
    max_bytes: int,
) -> BookChanges:
    """Compare a folder with the files that the index has; nothing is written."""
    plan = make_plan(book, state, "incremental", max_bytes)
    warnings = list(plan.warnings)
    fits = True
    try:
        check_stamp(known, "incremental", embedding_model, state.collection_name)
    except ConfigurationError as problem:
        warnings.append(str(problem))
        fits = False
    concerned = {*plan.process, *plan.failed}
    return BookChanges(
        book_id=book.book_id,
        new=list(plan.new),
        modified=list(plan.modified),
        moved=[file for file in plan.moved if file not in plan.failed],
        deleted=list(plan.deleted),
        failed=list(plan.failed),
        unchanged=sum(file not in concerned for file in book.files),
        warnings=warnings,
        up_to_date=known is not None and fits and plan.nothing_to_do,
    )
