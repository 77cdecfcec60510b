"""From our points, filters and queries to those of the embedded engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import qdrant_edge as edge

from bythebook.errors import InputError
from bythebook.index.qdrant_models import (
    Filter,
    PointStruct,
    Prefetch,
    QueryRequest,
    SearchParams,
    SparseVector,
    Vector,
)
from bythebook.index.store import DENSE, PAYLOAD_INDEXES, SPARSE, TENANT
from bythebook.index.validation import kind, listed

_DEFAULT_RRF_K = 2
_DEFAULT_LIMIT = 10
"""Both are what a server takes when nothing is said."""
# About 5,000 passages: less is small in memory too.
_LARGE_KB = 7_500


def to_config(dimension: int) -> edge.EdgeConfig:
    """No graph is built, and there is a write-ahead log. What has grown large is, when asked to
    tidy up, rewritten so that it is read from the disk's cache instead of held in memory, and its
    vectors also rounded to bytes."""
    rounded = edge.ScalarQuantizationConfig(type=edge.ScalarType.Int8, memory=edge.Memory.Cold)
    dense = edge.EdgeVectorParams(
        size=dimension,
        distance=edge.Distance.Cosine,
        memory=edge.Memory.Cold,
        quantization_config=rounded,
    )
    sparse = edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=edge.Memory.Cold)
    return edge.EdgeConfig(
        vectors={DENSE: dense},
        sparse_vectors={SPARSE: sparse},
        payload_memory=edge.Memory.Cold,
        id_tracker_memory=edge.Memory.Cold,
        hnsw_config=edge.HnswIndexConfig(
            m=0, payload_m=0, ef_construct=4, full_scan_threshold=_LARGE_KB
        ),
        optimizers=edge.EdgeOptimizersConfig(
            indexing_threshold=_LARGE_KB, default_segment_number=1, vacuum_min_vector_number=100
        ),
        wal_enabled=True,
    )


def to_index(field: str) -> edge.UpdateOperation:
    """The operation that indexes one payload field."""
    if PAYLOAD_INDEXES[field] == "integer":
        integer = edge.IntegerIndexParams(lookup=True, range=True, memory=edge.Memory.Cold)
        return edge.UpdateOperation.create_field_index(field, integer)
    keyword = edge.KeywordIndexParams(is_tenant=field == TENANT, memory=edge.Memory.Cold)
    return edge.UpdateOperation.create_field_index(field, keyword)


def to_point(point: PointStruct) -> edge.Point:
    """A point as the engine stores it."""
    vectors: dict[str, Any] = {name: _to_vector(part) for name, part in point.vector.items()}
    return edge.Point(point.id, vectors, point.payload or {})


def to_filter(value: Filter | None) -> edge.Filter | None:
    """A filter; an unknown condition raises."""
    if value is None:
        return None
    return edge.Filter(
        must=_to_conditions(value.must),
        should=_to_conditions(value.should),
        must_not=_to_conditions(value.must_not),
    )


def to_query(request: QueryRequest) -> edge.QueryRequest:
    """A whole query with its stages."""
    return edge.QueryRequest(
        limit=_DEFAULT_LIMIT if request.limit is None else request.limit,
        offset=request.offset or 0,
        query=_to_scoring(request),
        prefetches=_to_prefetches(request.prefetch),
        with_vector=to_selection(request.with_vector),
        with_payload=to_selection(request.with_payload),
        filter=to_filter(request.filter),
        score_threshold=request.score_threshold,
        params=_to_params(request.params),
    )


def to_selection(value: bool | Sequence[str] | None) -> bool | list[str]:
    """What to bring back; nothing unless asked for."""
    if value is None or isinstance(value, bool):
        return bool(value)
    return list(value)


def _to_vector(vector: Vector) -> list[float] | edge.SparseVector:
    if kind(vector) == "SparseVector":
        assert not isinstance(vector, Sequence)
        return edge.SparseVector(_plain_list(vector.indices), _plain_list(vector.values))
    assert not isinstance(vector, SparseVector)
    return _plain_list(vector)


def _plain_list(values: Any) -> list[Any]:
    return list(values.tolist()) if hasattr(values, "tolist") else list(values)


def _to_conditions(conditions: Any) -> list[Any] | None:
    if conditions is None:
        return None
    return [_to_condition(condition) for condition in listed(conditions)]


def _to_condition(condition: Any) -> Any:
    match kind(condition):
        case "Filter":
            return to_filter(condition)
        case "HasIdCondition":
            return edge.HasIdCondition(set(condition.has_id))
        case "IsEmptyCondition":
            return edge.IsEmptyCondition(condition.is_empty.key)
        case "FieldCondition":
            if condition.range is not None:
                return edge.FieldCondition(condition.key, range=_to_range(condition.range))
            return edge.FieldCondition(condition.key, match=_to_match(condition.match))
        case other:
            raise InputError(f"The embedded engine has no filter condition {other}.")


def _to_range(value: Any) -> edge.RangeFloat:
    return edge.RangeFloat(gte=value.gte, gt=value.gt, lte=value.lte, lt=value.lt)


def _to_match(match: Any) -> Any:
    match kind(match):
        case "MatchValue":
            return edge.MatchValue(match.value)
        case "MatchAny":
            return edge.MatchAny(list(match.any))
        case "MatchExcept":
            return edge.MatchExcept(list(match.except_))
        case other:
            raise InputError(f"The embedded engine has no match {other}.")


def _to_params(params: SearchParams | None) -> edge.SearchParams:
    params = params or SearchParams()
    idf, rounded = None, edge.QuantizationSearchParams(ignore=True)
    if params.idf is not None:
        idf = edge.IdfParams(corpus=to_filter(params.idf.corpus))
    if params.quantization is not None:
        rounded = edge.QuantizationSearchParams(
            rescore=params.quantization.rescore, oversampling=params.quantization.oversampling
        )
    return edge.SearchParams(
        hnsw_ef=params.hnsw_ef,
        # There is no graph to go without, and with it the engine never rounds.
        exact=bool(params.exact) and params.quantization is None,
        quantization=rounded,
        idf=idf,
    )


def _to_scoring(stage: QueryRequest | Prefetch) -> Any:
    query: Any = stage.query
    match kind(query):
        case "NoneType":
            return None
        case "FusionQuery":
            if str(query.fusion) == "dbsf":
                return edge.Fusion.Dbsf()
            return edge.Fusion.Rrf(k=_DEFAULT_RRF_K)
        case "RrfQuery":
            k = _DEFAULT_RRF_K if query.rrf.k is None else query.rrf.k
            weights = query.rrf.weights
            return edge.Fusion.Rrf(k=k, weights=None if weights is None else list(weights))
        case "SparseVector" | "list" | "tuple" | "ndarray":
            return edge.Query.Nearest(_to_vector(query), stage.using)
        case other:
            raise InputError(f"The embedded engine has no query {other}.")


def _to_prefetches(stages: Any) -> list[edge.Prefetch] | None:
    if stages is None:
        return None
    return [
        edge.Prefetch(
            limit=_DEFAULT_LIMIT if stage.limit is None else stage.limit,
            query=_to_scoring(stage),
            prefetches=_to_prefetches(stage.prefetch),
            params=_to_params(stage.params),
            filter=to_filter(stage.filter),
            score_threshold=stage.score_threshold,
        )
        for stage in listed(stages)
    ]
