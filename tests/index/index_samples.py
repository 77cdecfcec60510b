"""Points for the tests of the index: two small books with every field that is filtered on."""

from __future__ import annotations

import random
from uuid import UUID, uuid5

from bythebook.index.qdrant_models import (
    FieldCondition,
    Filter,
    MatchValue,
    PointStruct,
    SparseVector,
)

DIMENSION = 8
BOOKS = ("atlas", "botany")
_LEVELS = ("A1", "A2", "B1", "B2")
_SPACE = UUID(int=7)


def point_id(name: object) -> str:
    return str(uuid5(_SPACE, str(name)))


def dense(seed: object) -> list[float]:
    chance = random.Random(f"dense {seed}")
    return [chance.uniform(-1, 1) for _ in range(DIMENSION)]


def sparse(seed: object) -> SparseVector:
    chance = random.Random(f"sparse {seed}")
    indices = sorted(chance.sample(range(30), 6))
    return SparseVector(indices=indices, values=[chance.uniform(0.2, 2) for _ in indices])


def sample(number: int) -> PointStruct:
    lesson = number // 5
    return PointStruct(
        id=point_id(number),
        vector={"dense": dense(number), "bm25": sparse(number)},
        payload={
            "book_id": BOOKS[number % 2],
            "module": f"module-{lesson % 3}",
            "chapter": lesson % 4,
            "lesson": lesson,
            "hardware_tier": 1 + number % 4,
            "proficiency_level": _LEVELS[number % 4],
            "layer": f"L{1 + number % 3}",
            "parent_doc_id": point_id(f"lesson {lesson}"),
            "content_hash": f"{number:064x}",
            "source_file_hash": f"{lesson:064x}",
            "source_file": f"part/{lesson}.md",
            "text": f"Passage {number}: naïve café — “quoted” 𝛼 \n\t {{}}",
            "section_title": None if number % 5 == 0 else "Heading",
            "chunk_index": number % 5,
            "created_at": "2026-01-01T00:00:00Z",
            "extra": {"list": [1, 2.5, None, True], "object": {"a": "b"}},
        },
    )


SAMPLES = [sample(number) for number in range(60)]


def where(key: str, value: str | int) -> Filter:
    return Filter(must=[FieldCondition(key=key, match=MatchValue(value=value))])


def edition(number: int) -> list[PointStruct]:
    """One lesson in its n-th version, with a length of its own."""
    return [
        PointStruct(
            id=point_id(f"{number} {part}"),
            vector={"dense": dense(part), "bm25": sparse(part)},
            payload={"version": number},
        )
        for part in range(3 + number % 5)
    ]
