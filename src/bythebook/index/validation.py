"""Checks before every write and query: nothing malformed may reach an engine.

The embedded engine panics on a malformed sparse vector and can't open the store again, so these
checks are what stands between a bug and a lost index.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from operator import mul
from typing import Any

from bythebook.errors import InputError
from bythebook.index.qdrant_models import Filter, PointStruct, Prefetch, QueryRequest
from bythebook.index.store import DENSE, SPARSE

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_U32 = 2**32
_I64 = 2**63
_FLOAT32 = 3.4028234663852886e38
_DEPTH = 32
_MOST = 1_000_000
_VECTORS = (DENSE, SPARSE)


def kind(value: object) -> str:
    """Class name; ours and the client's classes go by the same names."""
    return type(value).__name__


def check_points(points: Sequence[PointStruct], stale: Sequence[str], dimension: int) -> None:
    """Refuse a write of which any part is malformed."""
    ids = [point.id for point in points]
    check_ids(ids)
    check_ids(stale)
    if len(set(ids)) != len(ids):
        raise InputError("The same id appears twice in one write.")
    if not set(ids).isdisjoint(stale):
        raise InputError("An id is to be written and removed in one step.")
    for point in points:
        _check_vectors(point.vector, dimension)
        if not isinstance(point.payload, dict | None):
            raise InputError("A payload must be an object.")
        _check_json(point.payload or {}, 0)


def check_ids(ids: Iterable[str]) -> None:
    """Point ids are UUIDs in their usual lower-case form."""
    for value in ids:
        if not isinstance(value, str) or not _UUID.fullmatch(value):
            raise InputError(f"A point id must be a UUID, not {value!r}.")


def check_request(request: QueryRequest, dimension: int) -> None:
    """Refuse a query of which any part is malformed."""
    _check_stage(request, dimension, 0)
    check_integer("limit", request.limit, 1)
    check_integer("offset", request.offset or 0, 0)
    check_selection(request.with_payload, None)
    check_selection(request.with_vector, _VECTORS)


def check_integer(name: str, value: object, least: int) -> None:
    """A whole number within what an engine takes."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        raise InputError(f"The {name} must be a whole number from {least} to {_MOST}.")


def check_selections(payload: object, vectors: object) -> None:
    """What to bring back of a point."""
    check_selection(payload, None)
    check_selection(vectors, (DENSE, SPARSE))


def check_selection(value: object, known: Sequence[str] | None) -> None:
    """Which fields or vectors to return: a flag or names."""
    if value is None or isinstance(value, bool):
        return
    if not isinstance(value, list | tuple):
        raise InputError(f"A selection must be true, false or a list of names, not {value!r}.")
    for name in value:
        check_key(name)
        if known is not None and name not in known:
            raise InputError(f"There is no vector named {name!r}.")


def check_filter(value: Filter | None, *, selective: bool = False) -> None:
    """Refuse unknown conditions; with `selective` also a filter without any condition."""
    if value is not None:
        _check_filter(value, 0)
    if selective and (value is None or not _has_condition(value)):
        raise InputError("A filter without conditions would match every book.")


def _check_stage(stage: QueryRequest | Prefetch, dimension: int, depth: int) -> None:
    if depth > 4:
        raise InputError("Prefetches are nested too deeply.")
    check_filter(stage.filter)
    _check_params(stage.params)
    if stage.score_threshold is not None:
        _check_floats([stage.score_threshold], "The score threshold")
    prefetches = listed(stage.prefetch)
    for prefetch in prefetches:
        if kind(prefetch) != "Prefetch":
            raise InputError(f"A prefetch can't be a {kind(prefetch)}.")
        if prefetch.limit is not None:
            check_integer("limit", prefetch.limit, 1)
        _check_stage(prefetch, dimension, depth + 1)
    query = stage.query
    if query is None:
        if stage.using is not None or prefetches:
            raise InputError("A query that names a vector or a prefetch must say what to look for.")
    elif kind(query) == "FusionQuery":
        if not prefetches or str(query.fusion) not in {"rrf", "dbsf"}:  # type: ignore[union-attr]
            raise InputError("A fusion needs prefetches and must be rrf or dbsf.")
    elif kind(query) == "RrfQuery":
        _check_rrf(query.rrf, len(prefetches))  # type: ignore[union-attr]
    elif stage.using not in _VECTORS:
        raise InputError(f"There is no vector named {stage.using!r}.")
    else:
        _check_vectors({stage.using: query}, dimension)


def _check_rrf(rrf: Any, prefetches: int) -> None:
    if not prefetches:
        raise InputError("A fusion needs prefetches.")
    check_integer("RRF constant k", 2 if rrf.k is None else rrf.k, 1)
    if rrf.weights is not None:
        _check_floats(rrf.weights, "An RRF weight")
        if len(rrf.weights) != prefetches or min(rrf.weights) < 0:
            raise InputError("There must be one weight of at least 0 for each prefetch.")


def _check_params(params: Any) -> None:
    if params is None:
        return
    if kind(params) != "SearchParams":
        raise InputError(f"Search parameters can't be a {kind(params)}.")
    for name in ("indexed_only", "acorn"):
        if getattr(params, name, None):
            raise InputError(f"The search parameter {name} is not supported.")
    if params.hnsw_ef is not None:
        check_integer("hnsw_ef", params.hnsw_ef, 1)
    if not isinstance(params.exact, bool | None):
        raise InputError("The search parameter exact must be true or false.")
    if params.quantization is not None:
        _check_quantization(params.quantization)
    if params.idf is not None:
        if kind(params.idf) != "IdfCorpusParams":
            raise InputError("The search parameter idf must be an IdfCorpusParams.")
        check_filter(params.idf.corpus)


def _check_quantization(given: Any) -> None:
    if kind(given) != "QuantizationSearchParams":
        raise InputError("The search parameter quantization must be a QuantizationSearchParams.")
    if getattr(given, "ignore", None):
        raise InputError("Quantization can't be ignored; leave the parameter out.")
    if not isinstance(given.rescore, bool | None):
        raise InputError("The search parameter rescore must be true or false.")
    if given.oversampling is not None:
        _check_floats([given.oversampling], "The search parameter oversampling")
        if given.oversampling < 1:
            raise InputError("The search parameter oversampling must be at least 1.")


def _check_vectors(vectors: Any, dimension: int) -> None:
    if not isinstance(vectors, dict) or not vectors:
        raise InputError("A point needs vectors by name.")
    for name, vector in vectors.items():
        if name == DENSE:
            _check_dense(vector, dimension)
        elif name == SPARSE:
            _check_sparse(vector)
        else:
            raise InputError(f"There is no vector named {name!r}.")


def _check_dense(vector: Any, dimension: int) -> None:
    if kind(vector) not in {"list", "tuple", "ndarray"}:
        raise InputError(f"A dense vector must be a list of numbers, not a {kind(vector)}.")
    if len(vector) != dimension:
        raise InputError(f"A vector has {len(vector)} numbers instead of {dimension}.")
    _check_floats(vector, "A dense vector")
    # The engine normalises in single precision; an overflow there would store a vector of zeros.
    if sum(map(mul, vector, vector)) > _FLOAT32:
        raise InputError("A dense vector is too long to be normalised.")


def _check_sparse(vector: Any) -> None:
    if kind(vector) != "SparseVector":
        raise InputError(f"A sparse vector can't be a {kind(vector)}.")
    indices, values = vector.indices, vector.values
    _check_floats(values, "A sparse vector")
    if kind(indices) not in {"list", "tuple", "ndarray"} or len(indices) != len(values):
        raise InputError("A sparse vector must have as many indices as values.")
    if not _are_plain(indices, int, 0, _U32 - 1):
        for index in indices:
            if isinstance(index, bool) or not hasattr(index, "__index__") or not 0 <= index < _U32:
                raise InputError(f"{index!r} is not an index of a sparse vector.")
    if len(set(indices)) != len(indices):
        raise InputError("A sparse vector names an index twice.")


def _are_plain(values: Any, wanted: type, low: float, high: float) -> bool:
    """Whether a look at each value can be spared: all of one type and within bounds."""
    if not set(map(type, values)) <= {wanted}:
        return False
    if not len(values):
        return True
    return math.isfinite(sum(values)) and low <= min(values) <= max(values) <= high


def _check_floats(values: Any, what: str) -> None:
    if kind(values) not in {"list", "tuple", "ndarray"}:
        raise InputError(f"{what} must be made of numbers.")
    if _are_plain(values, float, -_FLOAT32, _FLOAT32):
        return
    for value in values:
        # Written so that NaN fails as well.
        if isinstance(value, bool | str) or not _is_small(value):
            raise InputError(f"{what} holds {value!r}, which is not a finite number.")


def _is_small(value: Any) -> bool:
    try:
        return bool(-_FLOAT32 <= value <= _FLOAT32)
    except TypeError:
        return False


def listed(value: Any) -> list[Any]:
    """Qdrant takes one value where it takes a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _has_condition(value: Any) -> bool:
    parts = [*listed(value.must), *listed(value.should), *listed(value.must_not)]
    return any(kind(part) != "Filter" or _has_condition(part) for part in parts)


def _check_filter(value: Any, depth: int) -> None:
    if kind(value) != "Filter":
        raise InputError(f"A filter can't be a {kind(value)}.")
    if depth > _DEPTH:
        raise InputError("Filters are nested too deeply.")
    if getattr(value, "min_should", None) is not None:
        raise InputError("The filter part min_should is not supported.")
    for part in (value.must, value.should, value.must_not):
        for condition in listed(part):
            _check_condition(condition, depth)


def _check_condition(condition: Any, depth: int) -> None:
    match kind(condition):
        case "Filter":
            _check_filter(condition, depth + 1)
        case "HasIdCondition":
            check_ids(condition.has_id)
        case "IsEmptyCondition":
            check_key(condition.is_empty.key)
        case "FieldCondition":
            _check_field(condition)
        case other:
            raise InputError(f"The filter condition {other} is not supported.")


def _check_field(condition: Any) -> None:
    check_key(condition.key)
    names = getattr(condition, "__dataclass_fields__", None) or type(condition).model_fields
    given = {name for name in names if name != "key" and getattr(condition, name) is not None}
    if len(given) != 1 or not given <= {"match", "range"}:
        raise InputError(f"The condition on {condition.key} needs exactly one match or range.")
    if condition.range is not None:
        bounds = [condition.range.lt, condition.range.lte, condition.range.gt, condition.range.gte]
        _check_floats([bound for bound in bounds if bound is not None], "A range")
        if all(bound is None for bound in bounds):
            raise InputError(f"The range of {condition.key} has no bound.")
        return
    match kind(condition.match):
        case "MatchValue":
            _check_terms([condition.match.value])
        case "MatchAny":
            _check_terms(condition.match.any)
        case "MatchExcept":
            _check_terms(condition.match.except_)
        case other:
            raise InputError(f"The match {other} is not supported.")


def _check_terms(values: Any) -> None:
    if not isinstance(values, list | tuple) or not values:
        raise InputError("A match needs at least one value.")
    if len({type(value) for value in values}) != 1:
        raise InputError("The values of a match must be of one kind.")
    for value in values:
        if not isinstance(value, str | int):
            raise InputError(f"{value!r} can't be matched; use text, a whole number or a flag.")
        _check_json(value, 0)
    if len(values) > 1 and isinstance(values[0], bool):
        raise InputError("A match of several values takes text or whole numbers.")


def check_key(key: object) -> None:
    """Name of a payload field, dots leading into objects."""
    if not isinstance(key, str) or not re.fullmatch(
        r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*", key
    ):
        raise InputError(f"{key!r} is not the name of a payload field.")


def _check_json(value: Any, depth: int) -> None:
    if depth > _DEPTH:
        raise InputError("A payload is nested too deeply.")
    if value is None or value is True or value is False:
        return
    if type(value) is str:
        try:
            value.encode()
        except UnicodeEncodeError as problem:
            raise InputError("A text holds half of a character.") from problem
    elif type(value) is int:
        if not -_I64 <= value < _I64:
            raise InputError(f"The number {value} is too large to be stored.")
    elif type(value) is float:
        if not math.isfinite(value):
            raise InputError(f"A payload can't hold {value}.")
    elif type(value) is list:
        for part in value:
            _check_json(part, depth + 1)
    elif type(value) is dict:
        for key, part in value.items():
            if type(key) is not str:
                raise InputError(f"A payload can't have the key {key!r}.")
            _check_json(key, depth + 1)
            _check_json(part, depth + 1)
    else:
        raise InputError(f"A payload can't hold a {kind(value)}.")
