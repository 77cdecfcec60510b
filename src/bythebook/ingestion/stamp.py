"""What a book was indexed with, and whether that still fits."""

from __future__ import annotations

from bythebook.errors import ConfigurationError
from bythebook.models.book import BookInfo
from bythebook.models.chunk import CHUNKER_VERSION
from bythebook.models.vocabulary import IngestionMode


def check_stamp(
    known: BookInfo | None, mode: IngestionMode, embedding_model: str, collection: str
) -> None:
    """Vectors of two embedders, or chunks of two chunkers, never stand in one book."""
    if known is None or mode == "recreate":
        return
    if known.embedding_model != embedding_model:
        raise ConfigurationError(
            f"{known.book_id} was indexed with {known.embedding_model}, and the embedder is "
            f"now {embedding_model}.",
            action="Run the same command with --mode recreate, or set BYTHEBOOK_EMBEDDER back.",
        )
    if known.collection_name != collection:
        raise ConfigurationError(
            f"{known.book_id} is in the collection {known.collection_name}, and the setting "
            f"is now {collection}.",
            action="Run the same command with --mode recreate, or set QDRANT_COLLECTION_NAME back.",
        )
    if known.chunker_version > CHUNKER_VERSION:
        raise ConfigurationError(
            f"{known.book_id} was indexed by a newer bythebook (chunks of version "
            f"{known.chunker_version}, and this one makes {CHUNKER_VERSION}).",
            action="Upgrade bythebook (`pip install --upgrade bythebook`), or run the same command "
            "with --mode recreate.",
        )
    if known.chunker_version != CHUNKER_VERSION and mode == "incremental":
        raise ConfigurationError(
            f"{known.book_id} was cut into chunks by version {known.chunker_version}, and "
            f"this is version {CHUNKER_VERSION}.",
            action="Run the same command with --mode full.",
        )
