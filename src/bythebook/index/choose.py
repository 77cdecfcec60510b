"""Which engine holds the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bythebook.index.store import VectorStore
    from bythebook.settings import Settings


def make_store(settings: Settings) -> VectorStore:
    """The server the settings name, else the embedded engine in the home folder.

    The imports are here because a server's client takes most of a second to load.
    """
    if settings.qdrant_url:
        from bythebook.index.server import ServerStore

        key = settings.qdrant_api_key
        return ServerStore(
            settings.qdrant_url,
            api_key=key.get_secret_value() if key else None,
            collection=settings.collection,
            timeout=settings.search_timeout,
        )
    from bythebook.index.edge import EdgeStore

    return EdgeStore(settings.home / "index" / settings.collection)
