"""The layout every collection has: vector names, distances, payload indexes."""

from __future__ import annotations

from typing import Literal

from bythebook.errors import ConfigurationError

DENSE = "dense"
SPARSE = "bm25"
TENANT = "book_id"

PAYLOAD_INDEXES: dict[str, Literal["keyword", "integer"]] = {
    TENANT: "keyword",
    "module": "keyword",
    "chapter": "integer",
    "lesson": "integer",
    "hardware_tier": "integer",
    "proficiency_level": "keyword",
    "layer": "keyword",
    "parent_doc_id": "keyword",
    "content_hash": "keyword",
    "source_file_hash": "keyword",
    "source_file": "keyword",
}


def other_dimension(collection: str, stored: int, asked: int) -> ConfigurationError:
    """The stored vectors are not those of the embedder in use."""
    return ConfigurationError(
        f"The index {collection} holds vectors of dimension {stored}, "
        f"but the embedder in use makes {asked}.",
        action="Run `bythebook ingest PATH --mode recreate`, or set BYTHEBOOK_EMBEDDER "
        "to the embedder the index was made with.",
        details={"stored": stored, "asked": asked},
    )


def other_layout(collection: str) -> ConfigurationError:
    """A collection of this name exists but is not one of ours."""
    return ConfigurationError(
        f"The collection {collection} was not made by bythebook: "
        f"it lacks the vectors {DENSE} and {SPARSE}.",
        action="Set QDRANT_COLLECTION_NAME to another name, or run "
        "`bythebook ingest PATH --mode recreate`.",
    )
