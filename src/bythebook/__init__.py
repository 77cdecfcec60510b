"""Answers questions about a book only from what the book says."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bythebook.agent.assistant import Assistant as Assistant
    from bythebook.errors import BookError as BookError
    from bythebook.library import Library as Library
    from bythebook.library import sample_book as sample_book
    from bythebook.models.answer import Answer as Answer
    from bythebook.models.answer import Citation as Citation
    from bythebook.models.chunk import BookInfo as BookInfo
    from bythebook.models.chunk import DocumentChunk as DocumentChunk
    from bythebook.models.chunk import DocumentMetadata as DocumentMetadata
    from bythebook.models.conversation import Conversation as Conversation
    from bythebook.models.conversation import ConversationState as ConversationState
    from bythebook.models.job import IngestionJob as IngestionJob
    from bythebook.models.job import IngestionRecord as IngestionRecord
    from bythebook.models.job import IngestionState as IngestionState
    from bythebook.models.passage import Passage as Passage
    from bythebook.models.search_messages import SearchFilters as SearchFilters
    from bythebook.models.search_messages import SearchQuery as SearchQuery
    from bythebook.models.search_messages import SearchResponse as SearchResponse
    from bythebook.models.search_messages import SearchResult as SearchResult
    from bythebook.retrieval.retriever import Found as Found
    from bythebook.settings import Settings as Settings
    from bythebook.settings.agent import AgentConfig as AgentConfig

__version__ = "0.1.0"

# Loaded when first used, so that a command pays only for what it needs.
_PUBLIC = {
    "AgentConfig": "settings.agent",
    "Answer": "models.answer",
    "Assistant": "agent.assistant",
    "BookError": "errors",
    "BookInfo": "models.chunk",
    "Citation": "models.answer",
    "Conversation": "models.conversation",
    "ConversationState": "models.conversation",
    "DocumentChunk": "models.chunk",
    "DocumentMetadata": "models.chunk",
    "Found": "retrieval.retriever",
    "IngestionJob": "models.job",
    "IngestionRecord": "models.job",
    "IngestionState": "models.job",
    "Library": "library",
    "Passage": "models.passage",
    "SearchFilters": "models.search_messages",
    "SearchQuery": "models.search_messages",
    "SearchResponse": "models.search_messages",
    "SearchResult": "models.search_messages",
    "Settings": "settings",
    "sample_book": "library",
}
__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'bythebook' has no attribute {name!r}")
    return getattr(import_module(f"bythebook.{_PUBLIC[name]}"), name)
