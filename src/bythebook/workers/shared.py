"""Whether the settings allow several processes to share the work."""

from __future__ import annotations

from bythebook.errors import ConfigurationError
from bythebook.settings import Settings


def check_shared(settings: Settings) -> None:
    """Several processes need a database and an index that several processes can use."""
    backend = settings.database.partition(":")[0].partition("+")[0]
    if backend not in ("postgresql", "postgres"):
        raise ConfigurationError(
            "Workers of their own need PostgreSQL, and the database is SQLite.",
            action="Set DATABASE_URL to a PostgreSQL database (`bythebook migrate` moves what is "
            "there), or leave BYTHEBOOK_WORKERS at in-process.",
        )
    if not settings.qdrant_url:
        raise ConfigurationError(
            "Workers of their own need a Qdrant server, and the index is embedded.",
            action="Set QDRANT_URL (`bythebook migrate` moves what is there), or leave "
            "BYTHEBOOK_WORKERS at in-process.",
        )
