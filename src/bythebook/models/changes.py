"""What an ingest would do, found out without doing it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class BookChanges(BaseModel):
    """The files of a book, compared with what the index has of them."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "book_id": "physical-ai-robotics",
                    "new": ["module-1/chapter-2/03-services.md"],
                    "modified": ["module-1/chapter-1/01-nodes.md"],
                    "moved": [],
                    "deleted": [],
                    "failed": [],
                    "unchanged": 41,
                    "warnings": [],
                    "up_to_date": False,
                }
            ]
        }
    )

    book_id: str
    new: list[str]
    modified: list[str]
    moved: list[str] = Field(
        description="Unchanged files whose number, title or address changed because others did."
    )
    deleted: list[str]
    failed: list[str] = Field(description="Files that can't be read; each has a warning.")
    unchanged: int = Field(ge=0)
    warnings: list[str]
    up_to_date: bool = Field(description="Whether an incremental ingest has nothing to do.")
