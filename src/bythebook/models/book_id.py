"""What a book may be called."""

from __future__ import annotations

import re

from bythebook.errors import InputError

BOOK_ID = r"^[a-z0-9][a-z0-9._-]{0,99}$"


def check_book_id(book_id: str) -> str:
    if not re.fullmatch(BOOK_ID, book_id):
        raise InputError(
            f"{book_id!r} can't be a book's id.",
            action="Use lower-case letters, digits, dots, dashes and underscores, at most 100.",
        )
    return book_id
