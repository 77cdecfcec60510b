"""The books of a caller, and what can be chosen in each."""

from __future__ import annotations

from typing import Any, Self

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from bythebook.models.values import HardwareTier, ProficiencyLevel, TeachingLayer
from bythebook.server.auth import Guest, Serving
from bythebook.server.catalog_cache import CatalogEntry
from bythebook.server.error_responses import keyed

router = APIRouter(tags=["books"])

EXAMPLE: dict[str, Any] = {
    "book_id": "physical-ai-robotics",
    "title": "Physical AI and Humanoid Robotics",
    "language": "en",
    "chunks": 214,
    "files": 52,
    "base_url": "https://physical-ai.example/docs",
    "modules": [{"id": "ros2", "title": "The Robotic Nervous System"}],
    "hardware_tiers": [1, 2, 3],
    "proficiency_levels": ["A2", "B1"],
    "layers": ["L1", "L2"],
    "suggestions": ["What is a URDF?", "How do I write a launch file?"],
}


class Module(BaseModel):
    """A part of a book; `id` is what `module_filter` takes."""

    id: str
    title: str


class ShownBook(BaseModel):
    """A book and what it can be narrowed down to: values that occur in it. `hardware_tiers`,
    `proficiency_levels` and `layers` are empty where all pages have the same."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})

    book_id: str
    title: str
    language: str
    chunks: int = Field(ge=0, description="Passages in the index.")
    files: int = Field(ge=0)
    base_url: str | None = Field(description="Address that the book's pages stand under.")
    modules: list[Module]
    hardware_tiers: list[HardwareTier]
    proficiency_levels: list[ProficiencyLevel]
    layers: list[TeachingLayer]
    suggestions: list[str] = Field(
        max_length=6, description="Questions to begin with, which the book answers."
    )

    @classmethod
    def of(cls, book: CatalogEntry) -> Self:
        info, facets = book.info, book.facets
        return cls.model_validate(
            {
                "book_id": info.book_id,
                "title": info.title,
                "language": info.language,
                "chunks": info.total_chunks,
                "files": info.total_files,
                "base_url": info.base_url or None,
                "modules": [{"id": module, "title": title} for module, title in facets.modules],
                "hardware_tiers": facets.hardware_tiers,
                "proficiency_levels": facets.proficiency_levels,
                "layers": facets.layers,
                "suggestions": book.suggestions,
            }
        )


@router.get(
    "/books",
    summary="The books, and what to choose from in each",
    response_description="The caller's books.",
    responses=keyed(),
)
async def books(service: Serving, caller: Guest) -> list[ShownBook]:
    """Filters of `/chat/run` with the values that occur, and questions to begin with. They are
    determined at the first request after a book has changed."""
    own = await caller.books(service.library)
    return [ShownBook.of(book) for book in await service.catalog_cache.books(own)]
