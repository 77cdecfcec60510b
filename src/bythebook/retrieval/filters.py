"""From a search query to Qdrant conditions. The book is always one of them."""

from __future__ import annotations

from collections.abc import Sequence

from bythebook.index.models import Condition, FieldCondition, Filter, MatchAny, MatchValue, Range
from bythebook.models.search import SearchQuery
from bythebook.models.vocabulary import HARDWARE_TIERS


def make_filter(query: SearchQuery, pages: Sequence[str] | None = None) -> Filter:
    """Every filter of the query must match; `pages` are those a prefix was resolved to."""
    conditions: list[Condition] = [
        FieldCondition(key="book_id", match=MatchValue(value=query.book_id)),
    ]
    if query.hardware_tier_filter < HARDWARE_TIERS[-1]:  # the highest excludes nothing
        tiers = Range(lte=query.hardware_tier_filter)
        conditions.append(FieldCondition(key="hardware_tier", range=tiers))
    for key, value in (
        ("module", query.module_filter),
        ("lesson", query.lesson_filter),
        ("layer", query.layer_filter),
        ("parent_doc_id", query.parent_doc_id),
    ):
        if value is not None:
            conditions.append(FieldCondition(key=key, match=MatchValue(value=value)))
    if query.chapter_min is not None or query.chapter_max is not None:
        chapters = Range(gte=query.chapter_min, lte=query.chapter_max)
        conditions.append(FieldCondition(key="chapter", range=chapters))
    if query.proficiency_levels is not None:
        levels = MatchAny(any=list(query.proficiency_levels))
        conditions.append(FieldCondition(key="proficiency_level", match=levels))
    if pages is not None:
        conditions.append(FieldCondition(key="parent_doc_id", match=MatchAny(any=list(pages))))
    return Filter(must=conditions)
