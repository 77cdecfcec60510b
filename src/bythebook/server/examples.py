"""Examples of responses for the API's documentation, from the sample book."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

QUESTION = "What is a URDF?"
QUOTE = (
    "**URDF** (Unified Robot Description Format) is an XML format that describes one robot as a "
    "tree of rigid parts."
)
ANSWER = QUOTE.removesuffix(".") + " [1]."
BOOK = "physical-ai-robotics"
SESSION = "cfc6eb22-5200-48b4-90c6-3835b3676b6e"
PAGE = "https://physical-ai.example/docs/module-1-ros2/chapter-3-robot-models/urdf-and-xacro"
FILE = "module-1-ros2/chapter-3-robot-models/01-urdf-and-xacro.md"
LESSON = "e8978423-ee38-5e54-80c3-2b91a85ef706"
PASSAGE = "7768d0cb-e5f6-511a-922e-079cd9180a83"
ASKED, ANSWERED = "2026-11-15T09:17:55.412Z", "2026-11-15T09:17:55.597Z"

CITATION: Json = {
    "id": "4563e781-a6d1-4c71-9940-6258357b1591",
    "source_file_path": FILE,
    "source_url": f"{PAGE}#links-and-joints",
    "chapter": "Robot Models",
    "page_number": None,
    "text_preview": QUOTE,
    "confidence_score": 0.915,
    "number": 1,
    "section": "Links and joints",
    "quote": QUOTE,
    "start": 296,
    "end": 407,
    "stretches": [[296, 407]],
    "source_spans": [[495, 606]],
    "passage_id": PASSAGE,
}
CHAT: Json = {
    "response": ANSWER,
    "confidence": 0.776,
    "sources": [
        {
            "chunk_text": f"…{QUOTE} A **link** is a rigid part, such as a chassis or a wheel.…",
            "similarity_score": 0.915,
            "chapter": "Robot Models",
            "section": "Links and joints",
            "url": f"{PAGE}#links-and-joints",
            "chunk_index": 0,
        }
    ],
    "session_id": SESSION,
    "timestamp": ANSWERED,
    "confidence_level": "medium",
    "should_answer": True,
    "refused": False,
    "status": "success",
    "citations": [CITATION],
    "sentences": [{"start": 0, "end": len(ANSWER), "citations": [1], "support": 1.0}],
    "notes": ["Quoted from the book by the built-in answerer; no language model was used."],
    "removed_sentences": 0,
    "model": "built-in (quotes the book)",
    "tokens_used": 0,
    "metrics": {
        "average_similarity": 0.776,
        "min_similarity": 0.726,
        "max_similarity": 0.915,
        "num_chunks": 5,
        "chunk_diversity": 0.41,
        "confidence_level": "medium",
        "should_answer": True,
    },
    "searched": QUESTION,
    "nearest": [],
    "answer_id": "0e7af4fc-402a-4ff6-b393-8d5ff9503a3a",
    "html": None,
}
AGENT: Json = {
    "id": "0e7af4fc-402a-4ff6-b393-8d5ff9503a3a",
    "request_id": "7e1c45ef-f02b-42ff-a60b-b788750338f2",
    "content": ANSWER,
    "citations": [CITATION],
    "tool_calls": [
        {
            "tool_name": "search_textbook",
            "query": QUESTION,
            "results_count": 5,
            "avg_similarity": 0.776,
            "timestamp": ASKED,
            "arguments": {"query": QUESTION, "top_k": 5, "similarity_threshold": 0.7},
            "error": None,
            "total_chunks_found": 210,
            "retrieval_time_ms": 31.2,
        }
    ],
    "timestamp": ANSWERED,
    "status": "success",
    "metadata": {},
}
HISTORY: Json = {
    "thread_id": SESSION,
    "messages": [
        {"role": "user", "content": QUESTION, "timestamp": ASKED},
        {
            "role": "assistant",
            "content": ANSWER,
            "timestamp": ANSWERED,
            "confidence": 0.776,
            "refused": False,
            "sources": ["URDF and Xacro › Links and joints"],
            "citations": [CITATION],
            "tool_calls": AGENT["tool_calls"],
            "model": CHAT["model"],
        },
    ],
    "created_at": ASKED,
    "updated_at": ANSWERED,
    "topic_summary": None,
    "metadata": {"book_id": BOOK, "key_id": None},
}
STATE: Json = {
    "session_id": SESSION,
    "model": CHAT["model"],
    "started_at": ASKED,
    "turn_count": 1,
    "messages": [
        {
            "role": "system",
            "content": "You answer questions about a book, and only from what the book says. …",
            "timestamp": ASKED,
        },
        {"role": "user", "content": QUESTION, "timestamp": ASKED},
        {"role": "assistant", "content": ANSWER, "timestamp": ANSWERED},
    ],
    "retrieval_history": AGENT["tool_calls"],
}
SUMMARY: Json = {
    "session_id": SESSION,
    "topic_summary": "URDF and Xacro: Links and joints — What is a URDF?",
    "exchanges": 5,
    "created_at": ASKED,
    "updated_at": ANSWERED,
    "book_id": BOOK,
}
ENTRY: Json = {
    "id": PASSAGE,
    "text": f"# URDF and Xacro\n\n…\n\n## Links and joints\n\n{QUOTE} …",
    "source_file": FILE,
    "section_title": "Links and joints",
    "module": "ros2",
    "chapter": 3,
    "lesson": 1,
    "hardware_tier": 1,
    "proficiency_level": "B1",
    "layer": "L2",
    "chunk_index": 0,
    "total_chunks": 5,
    "parent_doc_id": LESSON,
    "prev_chunk_id": None,
    "next_chunk_id": "f12be93c-70e7-5428-8470-3ac2cf81c6ed",
    "content_hash": "a237137a7fe33212d05e719194b72484b505ce02ed3cc2e175b75e8146435daf",
    "title": "URDF and Xacro",
    "chapter_title": "Robot Models",
    "heading_path": ["URDF and Xacro", "Links and joints"],
    "url": f"{PAGE}#links-and-joints",
    "spans": [[199, 1396, 0]],
}
SEARCH: Json = {
    "query": QUESTION,
    "results": [{**ENTRY, "score": 0.912, "cosine": 0.249, "bm25": 4.144}],
    "total_found": 78,
    "hardware_tier_filter": 1,
    "module_filter": None,
    "book_id": BOOK,
    "filter_applied": None,
    "retrieved_at": ASKED,
    "retrieval_time_ms": 9.4,
    "average_score": 0.912,
    "has_sufficient_context": False,
}
CONTEXT: Json = {
    "book_id": BOOK,
    "chunk_id": PASSAGE,
    "passages": [
        {
            **ENTRY,
            "path": [
                "Module 1: The Robotic Nervous System (ROS 2)",
                "Robot Models",
                "URDF and Xacro",
                "Links and joints",
            ],
            "html": None,
            "has_file": False,
        }
    ],
}
WHOLE_LESSON: Json = {
    "book_id": BOOK,
    "parent_doc_id": LESSON,
    "title": "URDF and Xacro",
    "url": PAGE,
    "html": None,
    "passages": [ENTRY],
}


def answers(example: Json, description: str) -> dict[int | str, Json]:
    """A route's result for its documentation."""
    return {
        200: {
            "description": description,
            "content": {"application/json": {"example": example}},
        }
    }
