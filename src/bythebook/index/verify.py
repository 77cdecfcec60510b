"""Whether the embedded engine took a write.

It drops in silence what it takes for an older write than the one it holds, which happens when its
log was lost; see `shard.rebuild`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import qdrant_edge as edge

from bythebook.index.models import Filter, HasIdCondition, PointStruct
from bythebook.index.translate import to_filter


def took_effect(
    engine: edge.EdgeShard, points: Sequence[PointStruct], stale: Sequence[str]
) -> bool:
    """Every point is there, none of the stale ones is, and the first one is the new one."""
    if _held(engine, stale) or _held(engine, [point.id for point in points]) != len(points):
        return False
    if not points:
        return True
    (first,) = engine.retrieve([points[0].id], True, False)
    return _same(first.payload or {}, points[0].payload or {})


def _held(engine: edge.EdgeShard, ids: Sequence[str]) -> int:
    if not ids:
        return 0
    chosen = to_filter(Filter(must=[HasIdCondition(has_id=ids)]))
    return engine.count(edge.CountRequest(exact=True, filter=chosen))


def _same(stored: Any, given: Any) -> bool:
    """Equal but for the last digit of a fraction, which the engine may round."""
    if isinstance(given, float):
        return isinstance(stored, float | int) and math.isclose(stored, given, rel_tol=1e-12)
    if isinstance(given, dict):
        return (
            isinstance(stored, dict)
            and stored.keys() == given.keys()
            and all(_same(stored[key], given[key]) for key in given)
        )
    if isinstance(given, list):
        return (
            isinstance(stored, list)
            and len(stored) == len(given)
            and all(map(_same, stored, given))
        )
    return bool(stored == given)
