"""The record of a search."""

from __future__ import annotations

from typing import Any

from bythebook.models.retrieval_tool import ToolCall
from models.samples import has_fields, refuses, requires

RECORD: dict[str, Any] = {
    "tool_name": "retrieve_documentation",
    "query": "node",
    "results_count": 5,
    "avg_similarity": 0.8,
    "timestamp": "2025-12-27T10:00:00Z",
}


def test_tool_call_fields_and_bounds() -> None:
    has_fields(
        ToolCall,
        tool_name="string",
        query="string",
        results_count="integer",
        avg_similarity="number",
        timestamp="string",
    )
    requires(ToolCall, RECORD, *RECORD)
    refuses(ToolCall, RECORD, results_count=-1)
    refuses(ToolCall, RECORD, avg_similarity=1.01)
    refuses(ToolCall, RECORD, avg_similarity=-0.01)
    refuses(ToolCall, RECORD, tool_name="no identifier")
